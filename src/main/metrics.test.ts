import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../testing/source-tree.js';
import { startServer, type TestServer } from './running.fixture.js';

// A kind that no controller touches.
const classes = '/apis/berth.dev/v1/priorityclasses';
const json = { 'content-type': 'application/json' };
const priorityClass = (name: string): string => JSON.stringify({ metadata: { name }, spec: { value: 1 } });

describe('/metrics', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.dispose());
  const scrape = async (): Promise<string> => {
    const { status, text, headers } = await server.send('GET', '/metrics');
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    return text;
  };
  const valueOf = (text: string, sample: string): number => {
    const line = text.split('\n').find((candidate) => candidate.startsWith(`${sample} `));
    return line === undefined ? 0 : Number(line.slice(sample.length + 1));
  };
  const moved = async (samples: readonly string[], act: () => Promise<unknown>): Promise<number[]> => {
    const before = await scrape();
    await act();
    const after = await scrape();
    return samples.map((sample) => valueOf(after, sample) - valueOf(before, sample));
  };

  it('counts requests by verb, kind and status, and how long they took', async () => {
    const samples = [
      'berth_requests_total{verb="create",kind="PriorityClass",code="201"}',
      'berth_requests_total{verb="create",kind="PriorityClass",code="409"}',
      'berth_request_duration_seconds_count{verb="create",kind="PriorityClass"}',
      'berth_request_duration_seconds_bucket{le="+Inf",verb="create",kind="PriorityClass"}',
    ];
    const act = async (): Promise<void> => {
      await server.send('POST', classes, { headers: json, body: priorityClass('one') });
      await server.send('POST', classes, { headers: json, body: priorityClass('one') });
    };
    expect(await moved(samples, act)).toEqual([1, 1, 2, 2]);
  });

  it('has one label for all that it does not know, whatever is asked for', async () => {
    const ask = async (): Promise<void> => {
      for (let n = 0; n < 20; n++) await server.send('GET', `/apis/berth.dev/v1/kind${n}`);
    };
    expect(await moved(['berth_requests_total{verb="get",kind="other",code="404"}'], ask)).toEqual([20]);
    expect(await scrape()).not.toMatch(/kind\d/);
  });

  it('measures the transactions of the store, and how many shared a flush', async () => {
    const samples = [
      'berth_store_transaction_duration_seconds_count{outcome="Committed"}',
      'berth_store_batch_transactions_sum',
    ];
    const act = (): Promise<unknown> =>
      Promise.all(
        Array.from({ length: 32 }, (_, n) =>
          server.send('POST', classes, { headers: json, body: priorityClass(`shared-${n}`) }),
        ),
      );
    const [transactions, flushed] = await moved(samples, act);
    expect(transactions).toBeGreaterThanOrEqual(32);
    expect(flushed).toBeGreaterThanOrEqual(32);
    const text = await scrape();
    const batches = valueOf(text, 'berth_store_batch_transactions_count');
    expect(batches).toBeLessThan(valueOf(text, 'berth_store_batch_transactions_sum'));
  });

  it('shows the cache, the objects in it and the watchers of it', async () => {
    const samples = ['berth_cache_revision', 'berth_objects{kind="PriorityClass"}', 'berth_audit_lines'];
    const isWritten = async (): Promise<void> => {
      await expect.poll(async () => valueOf(await scrape(), 'berth_audit_waiting_lines')).toBe(0);
    };
    const act = async (): Promise<void> => {
      await server.send('POST', classes, { headers: json, body: priorityClass('counted') });
      await isWritten();
    };
    await isWritten();
    const [revisions, objects, lines] = await moved(samples, act);
    // Controllers renew their leases meanwhile.
    expect(revisions).toBeGreaterThanOrEqual(1);
    expect([objects, lines]).toEqual([1, 1]);

    const watching = server.send('GET', `${classes}?watch=true&timeoutSeconds=2`);
    const watches = async (): Promise<number> => valueOf(await scrape(), 'berth_watches');
    await expect.poll(watches).toBe(1);
    const withWatch = valueOf(await scrape(), 'berth_cache_watchers');
    await watching;
    await expect.poll(watches).toBe(0);
    const text = await scrape();
    expect(valueOf(text, 'berth_cache_watchers')).toBe(withWatch - 1);
    expect(valueOf(text, 'berth_requests_total{verb="watch",kind="PriorityClass",code="200"}')).toBe(1);
    expect(text).not.toContain('berth_request_duration_seconds_count{verb="watch"');
  });

  it('shows the process: its memory, and how late its event loop is', async () => {
    const text = await scrape();
    expect(valueOf(text, 'berth_process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
    expect(valueOf(text, 'berth_nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
  });

  it('is for those who may see all tenants', async () => {
    expect((await server.sendAnonymously('GET', '/metrics')).status).toBe(401);
    expect((await server.send('DELETE', '/metrics')).status).toBe(405);
  });

  it('is what docs/metrics.md says', async () => {
    const text = await scrape();
    const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]));
    const rows = [...text.matchAll(/^# HELP (\S+) (.*)$/gm)]
      .map(([, name = '', help = '']) => `| \`${name}\` | ${types.get(name)} | ${help} |`)
      .toSorted();
    expect(rows.length).toBeGreaterThan(30);
    for (const row of rows) expect(row).toContain('| `berth_');
    const page = `# Metrics

\`GET /metrics\` answers in the text form of Prometheus, to admin, viewer and controllers. Labels have few values: a kind is
one that Berth has, or \`other\`. This page is made from what a server answers: \`npm test -- main/metrics -u\` writes it
again.

A scrape with a token (\`berth token create --identity viewer\`, see [cli.md](cli.md)):

\`\`\`yaml
scrape_configs:
  - job_name: berth
    scheme: https
    tls_config: { ca_file: ca.crt }
    authorization: { credentials_file: token }
    static_configs: [{ targets: ['127.0.0.1:7443'] }]
\`\`\`

| name | type | what it is |
| --- | --- | --- |
${rows.join('\n')}
`;
    await expect(page).toMatchFileSnapshot(join(projectRoot, 'docs/metrics.md'));
  });
});
