import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import type { Cli } from './berth.fixture.js';

interface Kubeconfig {
  readonly users: { user: object }[];
}

/** A kubeconfig for the same server with a token in place of the administrator's certificate. */
export function tokenConfig(cli: Cli, token: string): string {
  const config = parse(readFileSync(cli.server.kubeconfig, 'utf8')) as Kubeconfig;
  for (const entry of config.users) entry.user = { token };
  return cli.write(`config-${token.slice(6, 22)}`, stringify(config));
}
