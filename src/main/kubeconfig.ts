import { chmodSync, renameSync, writeFileSync } from 'node:fs';

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
      { name: 'berth', cluster: { server: access.server, 'certificate-authority-data': base64(access.ca) } },
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
    contexts: [{ name: 'berth', context: { cluster: 'berth', user: 'admin', namespace: 'default' } }],
  };
  const temporary = `${path}.new`;
  // JSON is YAML too, and read in a moment by programs that start anew for every command.
  writeFileSync(temporary, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
  chmodSync(temporary, 0o600);
  renameSync(temporary, path);
}
