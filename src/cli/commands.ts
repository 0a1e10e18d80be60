import type { Command } from 'commander';
import type { CommandEntry } from './command-entry.js';

/** Every command, in the order that help lists them. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'up',
    description: 'run everything in one process, on an embedded store',
    load: async () => (await import('./up.js')).upCommand(),
  },
  {
    name: 'server',
    description: 'run the API server of a cell, alone or beside others on one etcd',
    load: async () => (await import('./server.js')).serverCommand(),
  },
  {
    name: 'agent',
    description: 'run the agent of this machine, for a server elsewhere',
    load: async () => (await import('./agent.js')).agentCommand(),
  },
  {
    name: 'hollow',
    description: 'play nodes that run nothing, for a server elsewhere',
    load: async () => (await import('./hollow.js')).hollowCommand(),
  },
  {
    name: 'get',
    description: 'show objects',
    load: async () => (await import('./get.js')).getCommand(),
  },
  {
    name: 'describe',
    description: 'show all of an object for people, with conditions and events',
    load: async () => (await import('./describe.js')).describeCommand(),
  },
  {
    name: 'status',
    description: 'say what needs attention now, worst first, and whose move it is',
    load: async () => (await import('./status.js')).statusCommand(),
  },
  {
    name: 'trace',
    description: 'tell what happened to something, in order, with who did it and on what evidence',
    load: async () => (await import('./trace.js')).traceCommand(),
  },
  {
    name: 'why',
    description: 'say where something stands, what limits it, and what would help',
    load: async () => (await import('./why.js')).whyCommand(),
  },
  {
    name: 'why-not',
    description: 'say what every filter of the scheduler says of one node',
    load: async () => (await import('./why.js')).whyNotCommand(),
  },
  {
    name: 'replay',
    description: 'run a scheduling decision again offline and compare the choice',
    load: async () => (await import('./replay.js')).replayCommand(),
  },
  {
    name: 'top',
    description: 'show what replicas use now, and how often they were started again',
    load: async () => (await import('./top.js')).topCommand(),
  },
  {
    name: 'logs',
    description: 'show what replicas have written',
    load: async () => (await import('./logs.js')).logsCommand(),
  },
  {
    name: 'exec',
    description: 'run a command beside a replica',
    load: async () => (await import('./exec.js')).execCommand(),
  },
  {
    name: 'cp',
    description: 'copy files to a replica or from it',
    load: async () => (await import('./cp.js')).cpCommand(),
  },
  {
    name: 'events',
    description: 'show what happened',
    load: async () => (await import('./events.js')).eventsCommand(),
  },
  {
    name: 'explain',
    description: 'say what a kind or a field of it is',
    load: async () => (await import('./explain.js')).explainCommand(),
  },
  {
    name: 'api-resources',
    description: 'list the kinds that the server has',
    load: async () => (await import('./api-resources.js')).apiResourcesCommand(),
  },
  {
    name: 'apply',
    description: 'make objects as files say, by server-side apply',
    load: async () => (await import('./apply.js')).applyCommand(),
  },
  {
    name: 'diff',
    description: 'show what apply would change',
    load: async () => (await import('./diff.js')).diffCommand(),
  },
  {
    name: 'edit',
    description: 'change an object in an editor',
    load: async () => (await import('./edit.js')).editCommand(),
  },
  {
    name: 'delete',
    description: 'delete objects',
    load: async () => (await import('./delete.js')).deleteCommand(),
  },
  {
    name: 'wait',
    description: 'wait until something is so of objects',
    load: async () => (await import('./wait.js')).waitCommand(),
  },
  {
    name: 'drain',
    description: 'have everything leave a node, within the limits of the workloads',
    load: async () => (await import('./drain.js')).drainCommand(),
  },
  {
    name: 'cordon',
    description: 'let no new replicas come to a node',
    load: async () => (await import('./drain.js')).cordonCommand(),
  },
  {
    name: 'uncordon',
    description: 'let replicas come to a node again; ends its drain',
    load: async () => (await import('./drain.js')).uncordonCommand(),
  },
  {
    name: 'attest',
    description: 'give your word that what ran on a node has stopped',
    load: async () => (await import('./attest.js')).attestCommand(),
  },
  {
    name: 'simulate',
    description: 'run the control plane in a deterministic world that tries to break it',
    load: async () => (await import('./simulate.js')).simulateCommand(),
  },
  {
    name: 'info',
    description: 'say which server this is, who you are to it, and how much it holds',
    load: async () => (await import('./info.js')).infoCommand(),
  },
  {
    name: 'audit',
    description: 'add up what is charged and compare it with the accounts',
    load: async () => (await import('./audit.js')).auditCommand(),
  },
  {
    name: 'fence',
    description: 'show or set what is permitted to work that may run only once',
    load: async () => (await import('./fence.js')).fenceCommand(),
  },
  {
    name: 'token',
    description: 'make, list and revoke bearer tokens',
    load: async () => (await import('./token.js')).tokenCommand(),
  },
  {
    name: 'auth',
    description: 'ask who you are to the server, and what you may do',
    load: async () => (await import('./auth.js')).authCommand(),
  },
  {
    name: 'config',
    description: 'look at and change the kubeconfig that names the server',
    load: async () => (await import('./config.js')).configCommand(),
  },
  {
    name: 'completion',
    description: 'print the script that completes berth commands in a shell',
    load: async () => (await import('./completion.js')).completionCommand(),
  },
  {
    name: '__complete',
    description: 'what the completion scripts ask',
    isHidden: true,
    load: async () => (await import('./complete.js')).completeCommand(commands),
  },
  {
    name: 'version',
    description: 'print the version of berth, of Node and of the server',
    load: async () => (await import('./version.js')).versionCommand(),
  },
];

/** The command of that name, if there is one. */
export const commandNamed = (name: string): Promise<Command> | undefined =>
  commands.find((command) => command.name === name)?.load();

export const hasCommand = (name: string): boolean => commands.some((command) => command.name === name);
