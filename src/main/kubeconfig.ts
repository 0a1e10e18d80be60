import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { serversExtension } from '../client/kubeconfig.js';

const clusterName = 'berth';

/** Writes a kubeconfig for one server and one user, readable by its owner alone. */
export function writeKubeconfig(
  path: string,
  access: {
    readonly server: string;
    readonly ca: string;
    readonly certificate: string;
    readonly key: string;
  },
): void {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'berth',
    clusters: [
      {
        name: clusterName,
        cluster: { server: access.server, 'certificate-authority-data': base64(access.ca) },
      },
    ],
    users: [
      {
        name: 'admin',
        user: {
          'client-certificate-data': base64(access.certificate),
          'client-key-data': base64(access.key),
        },
      },
    ],
    contexts: [{ name: 'berth', context: { cluster: clusterName, user: 'admin', namespace: 'default' } }],
  };
  save(path, config);
}

interface Config {
  readonly clusters?: readonly {
    readonly name: string;
    readonly cluster: {
      readonly server: string;
      extensions?: readonly { readonly name: string; readonly extension: unknown }[];
    };
  }[];
}

/**
 * Names all servers of the cell in the kubeconfig that one of them wrote, beside whatever else it holds. A file that has
 * become another kubeconfig, or is not JSON any more, stays as it is.
 */
export function nameServers(path: string, own: string, others: readonly string[]): void {
  const config = jsonIn(path);
  const found = config?.clusters?.find(({ name, cluster }) => name === clusterName && cluster.server === own);
  if (found === undefined) return;
  const servers = [...new Set([own, ...others])];
  const before = JSON.stringify(found);
  found.cluster.extensions = [
    ...(found.cluster.extensions ?? []).filter(({ name }) => name !== serversExtension),
    { name: serversExtension, extension: { servers } },
  ];
  if (JSON.stringify(found) !== before) save(path, config ?? {});
}

function jsonIn(path: string): Config | undefined {
  try {
    // A parsed boundary: written by this file, or by somebody who edited it since.
    return JSON.parse(readFileSync(path, 'utf8')) as Config;
  } catch {
    return undefined;
  }
}

function save(path: string, config: object): void {
  const temporary = `${path}.new`;
  // JSON is YAML too, and read in a moment by programs that start anew for every command.
  writeFileSync(temporary, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
  chmodSync(temporary, 0o600);
  renameSync(temporary, path);
}
