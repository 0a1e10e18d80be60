import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SeededRandom } from '../env/random.js';
import { startServer, type TestServer } from './running.fixture.js';
import type { Answer } from './test-client.fixture.js';

const workloads = '/apis/berth.dev/v1/namespaces/default/workloads';
// Of a kind that no controller touches.
const classes = '/apis/berth.dev/v1/priorityclasses';
const json = { 'content-type': 'application/json' };
const workload = (name: string) => ({
  apiVersion: 'berth.dev/v1',
  kind: 'Workload',
  metadata: { name },
  spec: { type: 'Service', replicas: 1, template: { run: { process: { command: ['x'] } } } },
});

describe('the API over HTTPS', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.dispose());
  const post = (body: unknown, path = workloads, headers: Record<string, string> = json): Promise<Answer> =>
    server.send('POST', path, {
      headers,
      body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    });
  const postClass = (name: string, description = ''): Promise<Answer> =>
    post({ metadata: { name }, spec: { value: 1, description } }, classes);
  const statusIn = ({ text }: Answer) =>
    JSON.parse(text) as { kind: string; status: string; reason: string; message: string; code: number };

  it('says that it lives and is ready to anybody, and anything else only to those it knows', async () => {
    expect(await server.sendAnonymously('GET', '/livez')).toMatchObject({ status: 200, text: 'ok' });
    expect(await server.sendAnonymously('GET', '/readyz')).toMatchObject({ status: 200, text: 'ok' });
    expect((await server.sendAnonymously('GET', workloads)).status).toBe(401);
    expect((await server.sendAnonymously('GET', '/apis')).status).toBe(401);
    const token = await server.sendAnonymously('GET', workloads, {
      authorization: 'Bearer berth_nobody_nothing',
    });
    expect(statusIn(token)).toMatchObject({ code: 401, reason: 'Unauthorized' });
    expect((await server.sendAnonymously('GET', workloads, { 'impersonate-user': 'admin' })).status).toBe(
      403,
    );
  });

  it.each([
    { what: 'a body that is not JSON', body: '{"a": \n  oops}', status: 400, says: 'line 2' },
    {
      what: 'a body that is not YAML',
      body: 'a: [1,\nb: }',
      headers: { 'content-type': 'application/yaml' },
      status: 400,
      says: 'not YAML',
    },
    { what: 'no body', body: '', status: 400, says: 'no body' },
    { what: 'a body that is not UTF-8', body: Buffer.from([0x7b, 0xff, 0xfe]), status: 400, says: 'UTF-8' },
    { what: 'a list where an object is due', body: '[]', status: 400, says: 'not an object' },
    {
      what: 'a form that it does not read',
      body: 'x',
      headers: { 'content-type': 'text/plain' },
      status: 415,
      says: 'text/plain',
    },
    {
      what: 'an unknown kind',
      path: '/apis/berth.dev/v1/workload',
      body: '{}',
      status: 404,
      says: 'did you mean workloads',
    },
    { what: 'a name that is none', body: workload('Not A Name'), status: 422, says: 'metadata.name' },
    {
      what: 'another kind than the path',
      body: { ...workload('a'), kind: 'Node' },
      status: 400,
      says: 'kind',
    },
    {
      what: 'a body that is too large',
      body: JSON.stringify({ a: 'x'.repeat(1_600_000) }),
      status: 413,
      says: '1500000',
    },
    {
      what: 'a body that is too deep',
      body: '['.repeat(100_000) + ']'.repeat(100_000),
      status: 400,
      says: 'nested',
    },
    ...['[', '- ', '? ', '{a: ', '[{'].map((opening) => ({
      what: `YAML of 100,000 ${JSON.stringify(opening)}`,
      body: opening.repeat(100_000),
      headers: { 'content-type': 'application/yaml' },
      status: 400,
      says: '',
    })),
    {
      what: 'a field that no object has',
      body: '{"__proto__": {"x": 1}, "kind": "Workload"}',
      status: 400,
      says: '__proto__',
    },
  ])('answers $what with $status', async ({ body, status, says, path = workloads, headers = json }) => {
    const answer = await post(body, path, headers);
    expect(answer.status).toBe(status);
    expect(statusIn(answer)).toMatchObject({ kind: 'Status', status: 'Failure', code: status });
    expect(statusIn(answer).message).toContain(says);
  });

  it('answers in the form that is asked for, or says that it cannot', async () => {
    expect((await server.send('GET', workloads, { headers: { accept: 'application/yaml' } })).text).toContain(
      'kind: WorkloadList',
    );
    const table = await server.send('GET', workloads, {
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    });
    expect(JSON.parse(table.text)).toMatchObject({ kind: 'Table' });
    expect(table.text).toContain('"name":"Type"');
    expect((await server.send('GET', workloads, { headers: { accept: 'image/png' } })).status).toBe(406);
  });

  it('lists in pages, and watches from the version of the list: bookmarks, initial events, expiry', async () => {
    for (let count = 0; count < 5; count++) expect((await postClass(`page-${count}`)).status).toBe(201);
    const first = JSON.parse((await server.send('GET', `${classes}?limit=2`)).text) as {
      items: unknown[];
      metadata: { continue: string; resourceVersion: string };
    };
    expect(first.items).toHaveLength(2);
    const second = await server.send(
      'GET',
      `${classes}?limit=2&continue=${encodeURIComponent(first.metadata.continue)}`,
    );
    expect(
      (JSON.parse(second.text) as { items: { metadata: { name: string } }[] }).items.map(
        (item) => item.metadata.name,
      ),
    ).toEqual(['page-1', 'page-2']);
    const watch = await server.send(
      'GET',
      `${classes}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1`,
    );
    const events = watch.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; object: { metadata: { annotations?: object } } });
    expect(events.map((event) => event.type)).toEqual([
      ...Array.from({ length: 6 }, () => 'ADDED'),
      'BOOKMARK',
    ]);
    expect(events.at(-1)?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
    const expired = await server.send('GET', `${classes}?watch=true&resourceVersion=1&timeoutSeconds=5`);
    expect(JSON.parse(expired.text)).toMatchObject({
      type: 'ERROR',
      object: { code: 410, reason: 'Expired' },
    });
  });

  it('writes down every change in the audit log, and nothing secret', async () => {
    await postClass('audited', 'secret-word');
    const headers = { 'content-type': 'application/merge-patch+json' };
    const body = JSON.stringify({ metadata: { labels: { seen: 'yes' } } });
    await server.send('PATCH', `${classes}/audited`, { headers, body });
    await server.send('DELETE', `${classes}/audited`);
    await server.send('DELETE', `${classes}/audited`);
    const { readFileSync, readdirSync } = await import('node:fs');
    interface Line {
      readonly verb: string;
      readonly name?: string;
      readonly outcome: number;
      readonly who: string;
      readonly revisionBefore?: string;
      readonly revisionAfter?: string;
    }
    const lines = (): Line[] =>
      readdirSync(`${server.dir}/audit`)
        .flatMap((file) => readFileSync(`${server.dir}/audit/${file}`, 'utf8').trim().split('\n'))
        .map((line) => JSON.parse(line) as Line);
    await expect
      .poll(
        () =>
          lines()
            .filter((line) => line.verb === 'delete')
            .map((line) => line.outcome),
        { timeout: 30_000 },
      )
      .toEqual([200, 404]);
    expect(JSON.stringify(lines())).not.toContain('secret-word');
    expect(new Set(lines().map((line) => line.who))).toEqual(new Set(['admin']));
    // Each names the version that it replaced: that of the one before it.
    const [created, patched, deleted, again] = lines().filter(({ name }) => name === 'audited');
    expect(created).toMatchObject({ verb: 'create', revisionAfter: expect.any(String) as string });
    expect(created).not.toHaveProperty('revisionBefore');
    expect(patched).toMatchObject({ verb: 'patch', revisionBefore: created?.revisionAfter });
    expect(deleted).toMatchObject({ verb: 'delete', revisionBefore: patched?.revisionAfter });
    expect(Number(deleted?.revisionAfter)).toBeGreaterThan(Number(patched?.revisionAfter));
    expect(again).not.toHaveProperty('revisionAfter');
  });

  it('answers 5,000 generated requests, however odd, without a 500 and without falling over', async () => {
    const seed = process.env['SEED'] ?? String(Date.now());
    const random = new SeededRandom(seed);
    const words = [
      '',
      'a',
      '../..',
      '%2e%2e',
      'é',
      '\u0000',
      '__proto__',
      'constructor',
      'status',
      'scale',
      'x'.repeat(300),
      '🙂',
      '-1',
      '1e999',
      'null',
      '{}',
    ];
    const values: (() => unknown)[] = [
      () => null,
      () => random.integer(100),
      () => -1,
      () => 1e308,
      () => true,
      () => random.pick(words),
      () => [],
      () => [value(), value()],
      () => ({}),
      () => ({ [random.pick(words)]: value() }),
      () => ({
        name: random.pick(words),
        namespace: random.pick(words),
        labels: value(),
        finalizers: value(),
        ownerReferences: value(),
      }),
      () => '\ud800',
    ];
    let depth = 0;
    const value = (): unknown => {
      if (depth > 5) return null;
      depth += 1;
      const made = random.pick(values)();
      depth -= 1;
      return made;
    };
    const mutated = (): string => {
      const good = JSON.stringify(workload(`fuzz-${random.integer(20)}`));
      const at = random.integer(good.length);
      return random.pick([
        () => good,
        () => good.slice(0, at),
        () => good.slice(0, at) + random.pick(words) + good.slice(at + 1),
        () => JSON.stringify({ ...workload('fuzz'), spec: value() }),
        () => JSON.stringify({ ...workload('fuzz'), metadata: value() }),
        () => JSON.stringify(value()),
        () =>
          JSON.stringify([
            {
              op: random.pick(['add', 'remove', 'test', 'move']),
              path: `/${random.pick(words)}`,
              value: value(),
              from: random.pick(words),
            },
          ]),
        () => '{'.repeat(random.integer(2_000)),
      ])();
    };
    const plurals = [
      'workloads',
      'workloads',
      'workloads',
      'tenants',
      'nodes',
      'replicas',
      'events',
      'namespaces',
      'nodeledgers',
      'nonsense',
      'leases',
      'decisions',
    ];
    const path = (): string => {
      const group = random.pick(['/api/v1', '/apis/berth.dev/v1', '/apis/berth.dev/v2', '/apis', '/openapi']);
      const namespace = random.chance(0.6)
        ? `/namespaces/${encodeURIComponent(random.chance(0.7) ? 'default' : random.pick(['nowhere', ...words]))}`
        : '';
      const name = random.chance(0.6)
        ? `/${encodeURIComponent(random.pick(['fuzz-1', 'default', ...words]).replace('\ud800', ''))}`
        : '';
      const sub = random.chance(0.2) ? `/${random.pick(['status', 'scale', 'logs'])}` : '';
      const query = random.chance(0.5)
        ? `?${random.pick(['limit', 'labelSelector', 'fieldSelector', 'resourceVersion', 'continue', 'dryRun', 'fieldValidation', 'propagationPolicy', 'fieldManager', 'force', 'timeoutSeconds=1&watch', 'pretty'])}=${encodeURIComponent(random.pick(['1', 'true', 'a=b', 'a in (', 'All', 'Strict', 'x', '-1', '99999999999999999999', ...words]))}`
        : '';
      return `${group}${namespace}/${random.pick(plurals)}${name}${sub}${query}`;
    };
    const types = [
      'application/json',
      'application/yaml',
      'application/merge-patch+json',
      'application/json-patch+json',
      'application/apply-patch+yaml',
      'application/strategic-merge-patch+json',
      'text/plain',
      '',
    ];
    const counts = new Map<number, number>();
    let left = 5_000;
    const client = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const target = random.chance(0.7)
          ? path()
          : random.pick([workloads, workloads, `${workloads}/fuzz-${random.integer(20)}`]);
        // Without the tenant that all the rest is in, nothing more could succeed.
        const methods = ['GET', 'POST', 'PUT', 'PATCH', 'PATCH', 'HEAD', 'OPTIONS'];
        const method = random.pick(target.includes('/tenants') ? methods : [...methods, 'DELETE']);
        const hasBody = ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method) && random.chance(0.9);
        const headers = {
          'content-type': random.chance(0.4) ? 'application/json' : random.pick(types),
          ...(random.chance(0.1)
            ? {
                accept: random.pick([
                  'image/png',
                  'application/yaml',
                  '*/*',
                  ';;;',
                  'application/json;as=Table;v=v1;g=meta.k8s.io',
                ]),
              }
            : {}),
        };
        const answer = await server
          .send(method, target, { headers, ...(hasBody ? { body: mutated() } : {}) })
          .catch((error: unknown) => {
            throw new Error(
              `SEED=${seed}: ${method} ${target} ${JSON.stringify(headers)}: ${String(error)}`,
              { cause: error },
            );
          });
        counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1);
        expect(answer.status, `SEED=${seed}: ${method} ${target} ${answer.text.slice(0, 300)}`).toBeLessThan(
          500,
        );
      }
    };
    await Promise.all(Array.from({ length: 8 }, client));
    expect(server.defects, `SEED=${seed}`).toEqual([]);
    // The generator reaches past the front door: some succeed, many kinds of refusal occur.
    for (const status of [200, 201, 400, 404, 405, 415, 422])
      expect(counts.get(status) ?? 0, `no ${status} at all`).toBeGreaterThan(0);
    expect((await server.send('GET', '/readyz')).status).toBe(200);
  }, 120_000);

  it('survives half-sent requests, header floods and connections that say nothing', async () => {
    const url = new URL(server.url);
    const attack = (bytes: string): Promise<void> =>
      new Promise((resolve) => {
        const socket = connect(
          { host: url.hostname, port: Number(url.port), rejectUnauthorized: false },
          () => {
            socket.write(bytes);
            setTimeout(() => socket.destroy(), 200);
          },
        );
        socket.on('error', () => undefined);
        socket.on('close', () => resolve());
      });
    await Promise.all([
      attack(''),
      attack('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{'),
      attack(
        `GET / HTTP/1.1\r\nhost: x\r\n${Array.from({ length: 5_000 }, (_, index) => `x-${index}: y\r\n`).join('')}\r\n`,
      ),
      attack(`GET /${'a'.repeat(100_000)} HTTP/1.1\r\n\r\n`),
      attack('NONSENSE\r\n\r\n'),
      ...Array.from({ length: 20 }, () => attack('GET /livez HTTP/1.1\r\n')),
    ]);
    expect((await server.send('GET', '/readyz')).status).toBe(200);
    expect(server.defects).toEqual([]);
  });
});
