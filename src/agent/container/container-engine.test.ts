import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realEnv } from '../../env/real.js';
import { ContainerEngine } from './container-engine.js';
import { EngineClient } from './engine-client.js';

describe('what is asked of an engine', () => {
  const dir = mkdtempSync(join(tmpdir(), 'berth-engine-'));
  const socketPath = join(dir, 'socket');
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(new URL(request.url ?? '', 'http://engine').searchParams.get('fromImage') ?? '');
    response.end('{"status":"done"}\n');
  });

  beforeAll(async () => {
    server.listen(socketPath);
    await once(server, 'listening');
  });

  afterAll(() => {
    server.close();
    rmSync(dir, { recursive: true });
  });

  it.each([
    ['busybox', 'busybox:latest'],
    ['registry.example.com:5000/tools/busybox', 'registry.example.com:5000/tools/busybox:latest'],
    ['busybox:1.36', 'busybox:1.36'],
    ['busybox:latest', 'busybox:latest'],
    ['busybox@sha256:00ff', 'busybox@sha256:00ff'],
  ])('one image is pulled, by its tag or digest: %s', async (image, expected) => {
    const engine = new ContainerEngine(new EngineClient({ socketPath, env: realEnv() }));
    for await (const { status } of engine.pull(image, new AbortController().signal))
      expect(status).toBe('done');
    expect(asked.at(-1)).toBe(expected);
  });
});
