import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../../testing/source-tree.js';
import { builtinPolicy } from '../model/policy.js';
import { TestPicture } from './cell.fixture.js';
import { readPlugin } from './plugin.js';
import { propose } from './propose.js';
import { replayDecision } from './replay-decision.js';
import { verdictsOn } from './verdicts.js';

const source = 'examples/plugins/quiet-hours.js';
const example = async () =>
  readPlugin({ source, digest: '1' }, await import(pathToFileURL(join(projectRoot, source)).href));

function opened() {
  const picture = new TestPicture();
  picture.node('loud', { labels: { noise: 'loud' } });
  picture.node('calm');
  picture.workload('radio', { cpu: '1' }, { template: { labels: { quiet: 'true' } } });
  picture.workload('drill', { cpu: '1' });
  return picture;
}

const options = { policy: builtinPolicy, seed: 1, ages: () => undefined };

describe('custom rules', () => {
  it('of the example keep work that wants quiet from loud nodes, and say so', async () => {
    const plugins = [await example()];
    const picture = opened();
    const { cell } = picture;
    const replicas = picture.pending('radio', 9);
    const result = propose(cell, { classKey: 'bank/radio-r1', replicas }, { ...options, plugins });
    expect(new Set(result.placements.map(({ node }) => node))).toEqual(new Set(['calm']));
    expect(result.waits).toMatchObject([{ reasons: ['NodeFull', 'PluginRefused'] }]);
    expect(result.decision.scores?.[0]?.parts).toMatchObject({ 'few-neighbours': 1 });
    expect(verdictsOn(cell, 'bank/radio-r1', 'loud', { ...options, plugins })).toContainEqual({
      filter: 'quiet',
      passes: false,
      reason: 'PluginRefused',
      message: 'node loud is loud, and the work wants quiet',
    });
    expect(verdictsOn(cell, 'bank/drill-r1', 'loud', { ...options, plugins })).toContainEqual({
      filter: 'quiet',
      passes: true,
    });
  });

  it('must be given again to run a decision again', async () => {
    const plugins = [await example()];
    const picture = opened();
    const replicas = picture.pending('radio', 3);
    const { decision, placements } = propose(
      picture.cell,
      { classKey: 'bank/radio-r1', replicas },
      { ...options, plugins },
    );
    const choices = placements.map(({ replica, node }) => ({
      replica: replica.name,
      uid: '',
      operation: '',
      node,
    }));
    expect(replayDecision({ ...decision, choices }, plugins).differences).toEqual([]);
    const elsewhere = plugins.map((plugin) => ({ ...plugin, source: '/srv/rules.mjs' }));
    expect(replayDecision({ ...decision, choices }, elsewhere).differences).toEqual([]);
    const refusal =
      'the decision was made with custom rules of examples/plugins/quiet-hours.js (sha256 1): give them too, as they were';
    expect(() => replayDecision({ ...decision, choices })).toThrow(refusal);
    const changed = plugins.map((plugin) => ({ ...plugin, digest: '2' }));
    expect(() => replayDecision({ ...decision, choices }, changed)).toThrow(refusal);
  });

  it('that throw refuse the node or score nothing, and do not stop the scheduler', () => {
    const boom = (): never => {
      throw new Error('boom');
    };
    const plugin = readPlugin(
      { source: 'bad.js', digest: '1' },
      {
        filters: [{ name: 'bad', filter: boom }],
        scores: [{ name: 'worse', weight: 5, score: boom }],
      },
    );
    const picture = opened();
    const turn = { classKey: 'bank/drill-r1', replicas: picture.pending('drill', 1) };
    const refused = propose(picture.cell, turn, { ...options, plugins: [{ ...plugin, scores: [] }] });
    expect(refused.waits).toMatchObject([{ reason: 'PluginRefused' }]);
    expect(
      verdictsOn(picture.cell, turn.classKey, 'calm', { ...options, plugins: [plugin] }).at(-2)?.message,
    ).toBe('node calm could not be judged by bad: boom');
    const scored = propose(picture.cell, turn, { ...options, plugins: [{ ...plugin, filters: [] }] });
    expect(scored.decision.scores?.[0]?.parts['worse']).toBe(0);
  });

  it('that answer with a promise refuse the node or score nothing, and what becomes of it ends nothing', async () => {
    const later = (): never => Promise.reject(new Error('the inventory does not answer')) as never;
    const plugin = readPlugin(
      { source: 'slow.js', digest: '1' },
      {
        filters: [{ name: 'slow', filter: later }],
        scores: [{ name: 'slower', weight: 5, score: later }],
      },
    );
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    const picture = opened();
    const turn = { classKey: 'bank/drill-r1', replicas: picture.pending('drill', 1) };
    const { cell } = picture;
    expect(verdictsOn(cell, turn.classKey, 'calm', { ...options, plugins: [plugin] }).at(-2)?.message).toBe(
      'node calm could not be judged by slow: it answered with a promise',
    );
    const scored = propose(cell, turn, { ...options, plugins: [{ ...plugin, filters: [] }] });
    expect(scored.decision.scores?.[0]?.parts['slower']).toBe(0);
    // Rejections that nobody takes are told after all promise work.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });

  it('are asked of the node that a Daemon is for', () => {
    const picture = opened();
    const refuses = { filters: [{ name: 'never', filter: () => 'is loud' }] };
    const plugins = [readPlugin({ source: 'p.js', digest: '1' }, refuses)];
    const classKey = picture.workload('logs', { cpu: '1' }, { spec: { type: 'Daemon' } });
    const turn = { classKey, replicas: picture.pending('logs', 1, { slot: 'loud' }) };
    expect(propose(picture.cell, turn, { ...options, plugins })).toMatchObject({
      placements: [],
      waits: [{ reason: 'PluginRefused', message: 'node loud is loud' }],
    });
  });

  it.each([
    [null, 'plugin x.js: it is not a module'],
    [{}, 'plugin x.js: it exports neither filters nor scores, each a list'],
    [{ filter: [] }, 'plugin x.js: it exports filter; allowed are filters and scores'],
    [{ filters: 'all' }, 'plugin x.js: filters is string; allowed is a list'],
    [{ filters: [1] }, 'plugin x.js: filters[0] is 1; allowed is an object with name and filter'],
    [{ filters: [{ name: '' }] }, 'plugin x.js: filters[0].name is ; allowed is a word'],
    [{ filters: [{ name: 'a' }] }, 'plugin x.js: filters[0].filter is undefined; allowed is a function'],
    [
      { filters: [{ name: 'a', filter: async () => true }] },
      'plugin x.js: filters[0].filter is async or a generator; allowed is a function that answers at once',
    ],
    [
      { scores: [{ name: 'a', weight: 0.5, score: () => 1 }] },
      'plugin x.js: scores[0].weight is 0.5; allowed is a whole number from 1 to 100',
    ],
    [
      { filters: ['a', 'a'].map((name) => ({ name, filter: () => true })) },
      'plugin x.js: filters[1].name a is there twice',
    ],
  ])('say in one sentence what is wrong with what a module exports: %j', (module, message) => {
    expect(() => readPlugin({ source: 'x.js', digest: '1' }, module)).toThrow(message);
  });
});
