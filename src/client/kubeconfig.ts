import { readFileSync } from 'node:fs';
import { delimiter, dirname, resolve } from 'node:path';
import { BerthError, isBerthError } from '../model/errors.js';
import { isHttpsUrl } from './is-https-url.js';

/** How to talk to a cell: where its servers are, whom to trust, and who we are. */
export interface ServerAccess {
  /** The server that is tried first. */
  readonly url: string;
  /** The rest of the cell's servers, tried in turn when one does not answer. */
  readonly otherUrls?: readonly string[];
  /** The certificates to trust, as PEM; undefined: those the machine trusts. */
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly token: string | undefined;
  /** Where objects are looked for when nobody says. */
  readonly namespace: string;
}

/** The extension of a kubeconfig's cluster that names all servers of a cell: `{ servers: [URL, …] }`. */
export const serversExtension = 'berth.dev/servers';

type Fields = Readonly<Record<string, unknown>>;

/** The kubeconfig that is meant: the path given, or $BERTH_CONFIG, or the first file of $KUBECONFIG. */
export function kubeconfigPath(path?: string, environment: NodeJS.ProcessEnv = process.env): string {
  const [fromKubectl] = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((part) => part !== '');
  const found = [path, environment['BERTH_CONFIG'], fromKubectl].find(
    (each) => each !== undefined && each !== '',
  );
  if (found === undefined) {
    throw new BerthError('InvalidKubeconfig', 'no kubeconfig: name one, or set BERTH_CONFIG or KUBECONFIG');
  }
  return found;
}

/** Reads how to reach the server of a kubeconfig's current context, or of the context that is named. */
export async function readKubeconfig(
  options: {
    readonly path?: string | undefined;
    readonly context?: string | undefined;
    readonly environment?: NodeJS.ProcessEnv;
  } = {},
): Promise<ServerAccess> {
  const path = kubeconfigPath(options.path, options.environment);
  const wrong = (what: string, cause?: unknown): BerthError =>
    new BerthError('InvalidKubeconfig', `kubeconfig ${path}: ${what}`, { cause, details: { path } });
  const contents = (file: string, role: string): string => {
    try {
      return readFileSync(file, 'utf8');
    } catch (cause) {
      throw wrong(`${role} cannot be read: ${(cause as Error).message}`, cause);
    }
  };
  let config: unknown;
  try {
    config = await parsed(contents(path, 'the file'));
  } catch (cause) {
    throw isBerthError(cause) ? cause : wrong(`not YAML: ${(cause as Error).message}`, cause);
  }
  if (!isFields(config)) throw wrong('not a kubeconfig: it holds no fields');
  return accessIn(config, { path, contents, wrong, contextName: options.context });
}

/** YAML. What is JSON, as `berth up` writes it, is read without the parser, which takes longer to load than all else. */
async function parsed(text: string): Promise<unknown> {
  if (text.startsWith('{')) {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      // A YAML of another form may begin so, too.
    }
  }
  const { parse } = await import('yaml');
  return parse(text) as unknown;
}

function accessIn(
  config: Fields,
  parts: {
    readonly path: string;
    readonly contextName: string | undefined;
    readonly contents: (file: string, role: string) => string;
    readonly wrong: (what: string, cause?: unknown) => BerthError;
  },
): ServerAccess {
  const { path, contents, wrong } = parts;

  const text = (from: Fields, field: string): string | undefined => {
    const value = from[field];
    if (value === undefined || value === null || value === '') return undefined;
    if (typeof value !== 'string') throw wrong(`${field} is not a text`);
    return value;
  };
  const required = (from: Fields, field: string, where: string): string => {
    const value = text(from, field);
    if (value === undefined) throw wrong(`${where}${field} is missing`);
    return value;
  };
  const named = (list: string, name: string, inner: string): Fields => {
    const entries: unknown = config[list];
    const found = Array.isArray(entries)
      ? (entries as unknown[]).find((entry) => isFields(entry) && entry['name'] === name)
      : undefined;
    if (found === undefined) throw wrong(`${list} has no entry named ${JSON.stringify(name)}`);
    const value = (found as Fields)[inner];
    if (!isFields(value)) throw wrong(`${list}[${name}].${inner} is missing`);
    return value;
  };
  /** A field that holds base64 (`x-data`) or names a file (`x`), which is looked for beside the kubeconfig. */
  const pem = (from: Fields, field: string): string | undefined => {
    const data = text(from, `${field}-data`);
    if (data !== undefined) return Buffer.from(data, 'base64').toString();
    const file = text(from, field);
    return file === undefined ? undefined : contents(resolve(dirname(path), file), field);
  };

  const contextName = parts.contextName ?? required(config, 'current-context', '');
  const context = named('contexts', contextName, 'context');
  const clusterName = required(context, 'cluster', `contexts[${contextName}].context.`);
  const cluster = named('clusters', clusterName, 'cluster');
  const httpsUrl = (value: unknown, field: string): string => {
    if (typeof value === 'string' && isHttpsUrl(value)) return value;
    const where = `clusters[${clusterName}].cluster.${field}`;
    throw wrong(`${where} is ${JSON.stringify(value)}: an https:// address is needed`);
  };
  const url = httpsUrl(required(cluster, 'server', `clusters[${clusterName}].cluster.`), 'server');
  const otherUrls = serversIn(cluster)
    .map((value) => httpsUrl(value, `extensions[${serversExtension}]`))
    .filter((each) => each !== url);
  const userName = required(context, 'user', `contexts[${contextName}].context.`);
  const user = named('users', userName, 'user');
  const cert = pem(user, 'client-certificate');
  const key = pem(user, 'client-key');
  if ((cert === undefined) !== (key === undefined)) {
    const missing = cert === undefined ? 'client-certificate' : 'client-key';
    throw wrong(`users[${userName}].user.${missing} (or ${missing}-data) is missing`);
  }
  const tokenFile = text(user, 'tokenFile');
  const token =
    text(user, 'token') ??
    (tokenFile === undefined ? undefined : contents(resolve(dirname(path), tokenFile), 'tokenFile').trim());
  if (cert === undefined && token === undefined) {
    throw wrong(`users[${userName}].user has neither a token nor a client-certificate`);
  }
  return {
    url,
    ...(otherUrls.length > 0 && { otherUrls }),
    ca: pem(cluster, 'certificate-authority'),
    cert,
    key,
    token,
    namespace: text(context, 'namespace') ?? 'default',
  };
}

/** The servers in the extension of a cluster, unchecked; an extension of another form counts as one wrong entry. */
function serversIn(cluster: Fields): readonly unknown[] {
  const extensions: unknown = cluster['extensions'];
  const found = Array.isArray(extensions)
    ? (extensions as unknown[]).find((each) => isFields(each) && each['name'] === serversExtension)
    : undefined;
  if (!isFields(found)) return [];
  const { extension } = found;
  const servers = isFields(extension) ? extension['servers'] : extension;
  return Array.isArray(servers) ? (servers as unknown[]) : [servers];
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
