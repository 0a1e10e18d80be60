import { join } from 'node:path';
import { NodeSession } from '../agent/node-session.js';
import { RefusalFile } from '../agent/refusals.js';
import { KeptDriver } from '../agent/upkeep/kept-driver.js';
import { NetworkProbes } from '../agent/upkeep/network-probes.js';
import { Wheel } from '../agent/wheel.js';
import { readKubeconfig } from '../client/kubeconfig.js';
import { NodeConnection } from '../client/node-connection.js';
import { realEnv } from '../env/real.js';
import { say } from '../../testing/run-process.js';
import { openProcessRunner } from './process-runner.js';

/** A real agent, for `DIR NODE ZONE KUBECONFIG URL`, with a lease as short as a test can wait for. */
const [, , dir = '', node = '', zone = '', kubeconfig = '', url = ''] = process.argv;
const env = realEnv();
const onProblem = (message: string): void => void process.stderr.write(`${node}: ${message}\n`);
const access = await readKubeconfig({ path: kubeconfig });
const runner = await openProcessRunner({ dir, node, env, onProblem });
const wheel = new Wheel(env);
const driver = new KeptDriver({
  ...{ runners: [runner], caller: new NetworkProbes(env), env, wheel },
  place: { node, region: 'local', zone },
});
const connection = NodeConnection.start({ access: () => ({ ...access, url }), env, onProblem });
const amounts = { cpu: '4', memory: '4Gi' };
new NodeSession({
  ...{ streams: connection, driver, env, wheel, onProblem, leaseSeconds: 3 },
  refusals: new RefusalFile(join(dir, 'refused'), onProblem),
  offer: {
    ...{ node, region: 'local', zone, labels: { pair: zone }, capacity: amounts, allocatable: amounts },
    agent: { drivers: ['process'], fencing: driver.canFence ? 'Supported' : 'Unsupported' },
  },
}).start();
say(JSON.stringify({ supervisor: runner.supervisorPid }));
