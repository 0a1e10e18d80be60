import { Command } from 'commander';
import { usageFailure } from './command-failure.js';
import { KubeconfigFile } from './kubeconfig-file.js';
import { outputOption, serversOf } from './option-values.js';
import { formatValue } from './print-objects.js';
import { formatTable } from './print-table.js';
import { reportFailure } from './report-failure.js';
import { configPathOf } from './session.js';
import { print } from './terminal.js';

interface ConfigOptions {
  readonly config?: string;
}

export const configCommand = (): Command =>
  new Command('config')
    .description('look at and change the kubeconfig that names the server')
    .addCommand(
      configPart('view', 'show it, without its secrets')
        .addOption(outputOption(['json', 'yaml']))
        .action((options: ConfigOptions & { output?: 'json' | 'yaml' }) =>
          withFile(options, async (file) =>
            print(await formatValue(file.redacted(), options.output ?? 'yaml')),
          ),
        ),
    )
    .addCommand(
      configPart('current-context', 'say which context is used').action((options: ConfigOptions) =>
        withFile(options, (file) => print(file.currentContext)),
      ),
    )
    .addCommand(
      configPart('get-contexts', 'list the contexts; * marks the one in use').action(
        (options: ConfigOptions) =>
          withFile(options, (file) => {
            const rows = file.contexts.map(({ name, cluster, user, namespace }) => [
              name === file.currentContext ? '*' : '',
              name,
              cluster,
              user,
              namespace,
            ]);
            print(formatTable(['CURRENT', 'NAME', 'CLUSTER', 'USER', 'NAMESPACE'], rows));
          }),
      ),
    )
    .addCommand(
      configPart('use-context', 'use another context from now on')
        .argument('<name>', 'the context')
        .action((name: string, options: ConfigOptions) =>
          withFile(options, (file) => {
            file.use(name);
            print(`${file.path} uses context ${name}`);
          }),
        ),
    )
    .addCommand(
      configPart('set-servers', 'name the servers of the cell of the current context')
        .argument('<urls>', 'in the order they are tried: URL[,URL…]', serversOf)
        .action((urls: readonly string[], options: ConfigOptions) =>
          withFile(options, (file) => {
            const cluster = file.setServers(urls);
            print(`cluster ${cluster}: ${urls.join(', ')}`);
          }),
        ),
    )
    .addCommand(
      configPart('set-context', 'set the namespace of a context')
        .argument('[name]', 'the context; the current one if it is left out')
        .option('--current', 'the current context')
        .option('--namespace <name>', 'where its commands look from now on')
        .action(
          (name: string | undefined, options: ConfigOptions & { namespace?: string; current?: boolean }) =>
            withFile(options, (file) => {
              const { namespace } = options;
              if (namespace === undefined || namespace === '')
                throw usageFailure('--namespace NAME is needed: it is what set-context sets');
              if (name !== undefined && options.current === true)
                throw usageFailure(`name a context (${name}) or say --current, not both`);
              const context = name ?? file.currentContext;
              file.setNamespace(context, namespace);
              print(`context ${context} looks in namespace ${namespace}`);
            }),
        ),
    );

const configPart = (name: string, description: string): Command =>
  new Command(name).description(description).option('--config <file>', 'which kubeconfig');

async function withFile(
  { config }: ConfigOptions,
  work: (file: KubeconfigFile) => Promise<void> | void,
): Promise<void> {
  try {
    await work(new KubeconfigFile(configPathOf(config)));
  } catch (error) {
    reportFailure(error);
  }
}
