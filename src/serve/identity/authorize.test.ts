import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rightsPage } from '../../../testing/rights-page.js';
import { projectRoot } from '../../../testing/source-tree.js';
import { kinds } from '../../model/kinds.js';
import {
  authorize,
  type KindRights,
  type ObjectRequest,
  type Part,
  readVerbs,
  type Verb,
  verbs,
} from './authorize.js';
import { formatIdentity, type Identity, parseIdentity } from './identity.js';

const parts: readonly Part[] = ['spec', 'status', 'metadata'];
const isRead = (verb: Verb): boolean => (readVerbs as readonly Verb[]).includes(verb);

function kindNamed(name: string): KindRights {
  const found = kinds.find(({ kind }) => kind === name);
  if (found === undefined) throw new Error(`no kind ${name}`);
  return found;
}

/** `update Workload/status fraud/web#status` as a request. */
function request(text: string): ObjectRequest {
  const match =
    /^(?<verb>\w+) (?<kind>\w+)(\/(?<sub>\w+))?( ((?<ns>[\w-]*)\/)?(?<name>[\w-]*))?(#(?<part>\w+))?$/.exec(
      text,
    )?.groups;
  if (match === undefined) throw new Error(`cannot read ${text}`);
  return {
    verb: match['verb'] as Verb,
    kind: kindNamed(match['kind'] ?? ''),
    part: (match['part'] ?? 'spec') as Part,
    ...(match['sub'] ? { subresource: match['sub'] } : {}),
    ...(match['ns'] ? { namespace: match['ns'] } : {}),
    ...(match['name'] ? { name: match['name'] } : {}),
  };
}

/** Every request there is about objects of these tenants and names. */
function* everyRequest(): Generator<ObjectRequest> {
  for (const kind of kinds) {
    for (const verb of verbs) {
      for (const part of parts) {
        for (const subresource of [undefined, 'status', 'scale', 'exec']) {
          for (const namespace of [undefined, 'fraud', 'other']) {
            for (const name of [undefined, 'fraud', 'n1', 'node-n1', 'scheduler', 'authority', 'x']) {
              yield {
                verb,
                kind,
                part,
                ...(subresource === undefined ? {} : { subresource }),
                ...(namespace === undefined ? {} : { namespace }),
                ...(name === undefined ? {} : { name }),
              };
            }
          }
        }
      }
    }
  }
}

const allowedTo = (who: string): ObjectRequest[] => {
  const identity = parseIdentity(who);
  return [...everyRequest()].filter((each) => authorize(identity, each).allowed);
};

describe('[S6] an identity may', () => {
  it.each([
    ['admin', 'create Workload fraud/web'],
    ['admin', 'delete Tenant fraud'],
    ['admin', 'patch Node n1#metadata'],
    ['admin', 'update Workload/scale fraud/web'],
    ['viewer', 'list Workload'],
    ['viewer', 'get Replica/status other/x'],
    ['tenant:fraud:viewer', 'watch Replica fraud/'],
    ['tenant:fraud:viewer', 'get Tenant fraud'],
    ['tenant:fraud:viewer', 'list Node'],
    ['tenant:fraud:editor', 'apply Workload fraud/web'],
    ['tenant:fraud:editor', 'patch Workload/scale fraud/web'],
    ['tenant:fraud:editor', 'deletecollection Workload fraud/'],
    ['tenant:fraud:owner', 'create Workload fraud/web'],
    ['node:n1', 'get Node n1'],
    ['node:n1', 'patch Node/status n1#status'],
    ['node:n1', 'get Lease node-n1'],
    ['controller:workload-controller', 'create Replica fraud/web-0-1'],
    ['controller:workload-controller', 'update Workload/status fraud/web'],
    ['controller:workload-controller', 'patch Workload fraud/web#metadata'],
    ['controller:scheduler', 'create Decision fraud/x'],
    ['tenant:fraud:viewer', 'get Workload/why fraud/web'],
    ['tenant:fraud:viewer', 'get Node/why n1'],
    ['viewer', 'get Replica/log fraud/web-0-1'],
    ['tenant:fraud:viewer', 'get Replica/log fraud/web-0-1'],
    ['tenant:fraud:editor', 'create Replica/exec fraud/web-0-1'],
    ['admin', 'create Replica/exec fraud/web-0-1'],
    ['controller:endpoints-controller', 'create Endpoints fraud/web'],
    ['controller:commit', 'update Replica/status fraud/web-0-1'],
    ['controller:repair', 'create Event fraud/x'],
    ['controller:repair', 'list Replica'],
  ])('%s: %s', (who, what) => {
    expect(authorize(parseIdentity(who), request(what))).toEqual({ allowed: true });
  });
});

describe('[S6] an identity may not', () => {
  it.each([
    ['admin', 'update Replica fraud/web-0-1', 'Replica.spec is written by workload-controller'],
    ['admin', 'delete Replica fraud/web-0-1', 'Replica is written by workload-controller'],
    ['admin', 'update Workload/status fraud/web', 'Workload.status is written by workload-controller'],
    ['admin', 'patch Workload fraud/web#status', 'Workload.status is written by workload-controller'],
    ['admin', 'update Lease authority', 'Lease.spec is written by nobody'],
    ['admin', 'create NodeLedger n1', 'NodeLedger is written by nobody'],
    ['admin', 'delete Namespace fraud', 'Namespace is written by nobody'],
    ['tenant:fraud:owner', 'get Workload/why other/web', 'tenant fraud reads only its own workloads'],
    ['node:n1', 'get Node/why n1', 'nodes do not ask why'],
    ['tenant:fraud:owner', 'get Replica/log other/web-0-1', 'tenant fraud reads only its own replicas'],
    ['node:n1', 'get Replica/log fraud/web-0-1', 'logs are read by admin, viewer and the tenant'],
    ['controller:commit', 'get Replica/log fraud/web-0-1', 'logs are read by admin, viewer and the tenant'],
    ['admin', 'delete Replica/log fraud/web-0-1', 'a log cannot be the target of delete'],
    ['viewer', 'create Replica/exec fraud/web-0-1', 'commands are run by admin and the tenant'],
    ['tenant:fraud:viewer', 'create Replica/exec fraud/web-0-1', 'a viewer only reads'],
    ['tenant:fraud:owner', 'create Replica/exec other/web-0-1', 'only in namespace fraud'],
    ['admin', 'get Replica/exec fraud/web-0-1', 'exec cannot be the target of get'],
    ['admin', 'get Workload/exec fraud/web', 'nobody may use the subresource exec'],
    ['admin', 'patch Workload/why fraud/web', 'why cannot be the target of patch'],
    ['anonymous', 'get Workload/why fraud/web', 'anonymous reads no objects'],
    ['admin', 'get Workload/attach fraud/x', 'nobody may use the subresource attach of workloads'],
    ['admin', 'create Workload/status fraud/web', 'a subresource cannot be the target of create'],
    ['viewer', 'create Workload fraud/web', 'a viewer only reads'],
    ['tenant:fraud:viewer', 'create Workload fraud/web', 'a viewer only reads'],
    [
      'tenant:fraud:viewer',
      'get Workload other/web',
      'reads only its own workloads; ask for namespace fraud',
    ],
    ['tenant:fraud:viewer', 'list Workload', 'reads only its own workloads; ask for namespace fraud'],
    ['tenant:fraud:viewer', 'list Tenant', 'reads only the Tenant named fraud'],
    ['tenant:fraud:viewer', 'get Lease authority', 'tenants do not read leases'],
    ['tenant:fraud:viewer', 'get NodeLedger n1', 'tenants do not read nodeledgers'],
    ['tenant:fraud:owner', 'create Workload other/web', 'tenant fraud writes only in namespace fraud'],
    ['tenant:fraud:owner', 'update Tenant fraud', 'Tenant.spec is written by operator'],
    ['tenant:fraud:owner', 'patch Node n1#metadata', 'Node.metadata is written by operator'],
    ['tenant:fraud:owner', 'delete Replica fraud/x', 'Replica is written by workload-controller'],
    ['node:n1', 'patch Node/status n2', 'Node.status named n1 is the only one this identity writes'],
    ['node:n1', 'patch Node n1', 'Node.spec is written by operator'],
    ['node:n1', 'patch Node n1#metadata', 'Node.metadata is written by operator'],
    ['node:n1', 'create Node n1#status', 'Node is written by operator'],
    ['node:n1', 'list Node', 'node n1 reads only the Node named n1'],
    ['node:n1', 'get Replica fraud/x', 'nodes do not read replicas'],
    ['node:n1', 'update Lease node-n1', 'Lease.spec is written by nobody'],
    ['node:n1', 'get Lease node-n2', 'node n1 reads only the Lease named node-n1'],
    ['controller:scheduler', 'create Replica fraud/x', 'Replica is written by workload-controller'],
    ['controller:scheduler', 'update Lease scheduler', 'Lease.spec is written by nobody'],
    ['controller:repair', 'update Replica/status fraud/x', 'Replica.status is written by commit'],
    ['controller:commit', 'update TenantLedger fraud', 'TenantLedger.spec is written by nobody'],
    ['controller:endpoints-controller', 'patch Endpoints fraud/web', 'Endpoints.spec is written by nobody'],
    ['anonymous', 'get Node n1', 'anonymous reads no objects'],
    ['anonymous', 'create Workload fraud/web', 'anonymous writes nothing'],
  ])('%s: %s', (who, what, reason) => {
    expect(authorize(parseIdentity(who), request(what))).toEqual({
      allowed: false,
      reason: expect.stringContaining(reason) as string,
    });
  });
});

describe('over every request', () => {
  it('nobody writes a ledger or a namespace', () => {
    for (const who of ['admin', 'viewer', 'tenant:fraud:owner', 'node:n1', 'controller:commit']) {
      const written = allowedTo(who).filter(
        ({ verb, kind }) => !isRead(verb) && /Ledger|Namespace/.test(kind.kind),
      );
      expect(written).toEqual([]);
    }
  });

  it('a tenant reaches no other tenant, and a viewer writes nothing', () => {
    for (const role of ['viewer', 'editor', 'owner']) {
      const reached = allowedTo(`tenant:fraud:${role}`);
      expect(reached.length).toBeGreaterThan(100);
      for (const { kind, namespace, verb, subresource } of reached) {
        if (kind.scope === 'Tenant') expect(namespace).toBe('fraud');
        if (role === 'viewer' || kind.scope === 'Cluster') expect(isRead(verb)).toBe(true);
        if (!isRead(verb))
          expect([kind.kind, subresource]).toContain(subresource === 'exec' ? 'Replica' : 'Workload');
      }
    }
    expect(allowedTo('viewer').every(({ verb }) => isRead(verb))).toBe(true);
  });

  it('an editor and an owner have the same rights over objects', () => {
    expect(allowedTo('tenant:fraud:owner')).toEqual(allowedTo('tenant:fraud:editor'));
  });

  it('a node reaches its own Node and Lease and nothing else', () => {
    const reached = allowedTo('node:n1');
    expect(new Set(reached.map(({ kind, name }) => `${kind.kind} ${name}`))).toEqual(
      new Set(['Node n1', 'Lease node-n1']),
    );
    for (const { kind, verb, part, subresource } of reached) {
      if (kind.kind === 'Node' && !isRead(verb)) expect([part, subresource]).toContain('status');
    }
  });

  it('anonymous reaches nothing', () => {
    expect(allowedTo('anonymous')).toEqual([]);
  });

  it('every denial gives a reason', () => {
    const requests = [...everyRequest()];
    for (const who of ['admin', 'tenant:fraud:editor', 'node:n1', 'controller:x', 'anonymous'].map(
      parseIdentity,
    )) {
      const reasons = requests
        .map((each) => authorize(who, each))
        .map((access) => (access.allowed ? 'yes' : access.reason));
      expect(new Set(reasons)).not.toContain('');
      expect([...new Set(reasons)].filter((reason) => /undefined|null|NaN/.test(reason))).toEqual([]);
    }
  });
});

describe('paths', () => {
  const get = (who: string, path: string): boolean =>
    authorize(parseIdentity(who), { verb: 'get', path }).allowed;

  it('of health are open, discovery is for those who said who they are', () => {
    for (const path of ['/livez', '/readyz', '/version']) {
      expect(get('anonymous', path)).toBe(true);
      expect(authorize({ kind: 'admin' }, { verb: 'delete', path }).allowed).toBe(false);
    }
    for (const path of ['/api', '/apis', '/apis/berth.dev/v1', '/openapi/v2', '/openapi/v3']) {
      expect(get('anonymous', path)).toBe(false);
      expect(get('node:n1', path)).toBe(true);
    }
  });

  it('are compared whole', () => {
    for (const path of ['/livez/', '/livez/../metrics', '/LIVEZ', 'livez', '/livez?x', '/apisx', '']) {
      expect(get('anonymous', path)).toBe(false);
      expect(get('tenant:fraud:viewer', path)).toBe(false);
    }
  });
});

describe('tokens', () => {
  const owner: Identity = { kind: 'tenant', tenant: 'fraud', role: 'owner' };
  it.each(['tenant:fraud:viewer', 'tenant:fraud:editor', 'tenant:fraud:owner'])(
    'for %s are made by the owner of that tenant, and by nobody of another',
    (whose) => {
      const create = { verb: 'create', tokensOf: parseIdentity(whose) } as const;
      expect(authorize(owner, create).allowed).toBe(true);
      expect(authorize({ ...owner, tenant: 'other' }, create).allowed).toBe(false);
      expect(authorize({ ...owner, role: 'editor' }, create).allowed).toBe(false);
    },
  );

  it.each(['admin', 'viewer', 'node:n1', 'controller:commit', 'tenant:other:viewer'])(
    'for %s are not for a tenant’s owner to make',
    (whose) => {
      expect(authorize(owner, { verb: 'create', tokensOf: parseIdentity(whose) }).allowed).toBe(false);
      expect(authorize({ kind: 'admin' }, { verb: 'create', tokensOf: parseIdentity(whose) }).allowed).toBe(
        true,
      );
    },
  );

  it('are not listed by a viewer or a controller', () => {
    for (const who of ['viewer', 'controller:commit', 'node:n1', 'anonymous'].map(parseIdentity)) {
      expect(authorize(who, { verb: 'list', tokensOf: 'everyone' }).allowed, formatIdentity(who)).toBe(false);
    }
    expect(authorize(owner, { verb: 'list', tokensOf: 'everyone' }).allowed).toBe(false);
  });
});

describe('docs/rights.md', () => {
  it('is what authorize answers', async () => {
    const file = join(projectRoot, 'docs/rights.md');
    // A missing page is an error, not something to write on the way.
    expect(existsSync(file)).toBe(true);
    await expect(rightsPage(kinds)).toMatchFileSnapshot(file);
  });
});

describe('[S6] a node is spoken for', () => {
  const mayActFor = (who: string, node: string): boolean =>
    authorize(parseIdentity(who), { verb: 'update', actsForNode: node }).allowed;

  it.each([
    ['node:n1', 'n1', true],
    ['node:n1', 'n2', false],
    ['node:n1', 'n11', false],
    ['hollow:n1', 'n1', true],
    ['hollow:n1', 'n11', true],
    ['hollow:n1', 'm1', false],
    ['admin', 'n1', false],
    ['controller:commit', 'n1', false],
    ['anonymous', 'n1', false],
  ])('by %s for %s: %s', (who, node, expected) => {
    expect(mayActFor(who, node)).toBe(expected);
  });

  it('by nobody for all nodes', () => {
    expect(() => parseIdentity('hollow:')).toThrow('is not an identity');
  });
});
