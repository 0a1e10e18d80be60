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
const example = async () => readPlugin(source, await import(pathToFileURL(join(projectRoot, source)).href));

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
    expect(() => replayDecision({ ...decision, choices })).toThrow(
      'the decision was made with custom rules of examples/plugins/quiet-hours.js: give them too',
    );
  });

  it('that throw refuse the node or score nothing, and do not stop the scheduler', () => {
    const boom = (): never => {
      throw new Error('boom');
    };
    const plugin = readPlugin('bad.js', {
      filters: [{ name: 'bad', filter: boom }],
      scores: [{ name: 'worse', weight: 5, score: boom }],
    });
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

  it.each([
    [null, 'plugin x.js: it is not a module'],
    [{}, 'plugin x.js: it exports neither filters nor scores, each a list'],
    [{ filter: [] }, 'plugin x.js: it exports filter; allowed are filters and scores'],
    [{ filters: 'all' }, 'plugin x.js: filters is string; allowed is a list'],
    [{ filters: [1] }, 'plugin x.js: filters[0] is 1; allowed is an object with name and filter'],
    [{ filters: [{ name: '' }] }, 'plugin x.js: filters[0].name is ; allowed is a word'],
    [{ filters: [{ name: 'a' }] }, 'plugin x.js: filters[0].filter is undefined; allowed is a function'],
    [
      { scores: [{ name: 'a', weight: 0.5, score: () => 1 }] },
      'plugin x.js: scores[0].weight is 0.5; allowed is a whole number from 1 to 100',
    ],
    [
      { filters: ['a', 'a'].map((name) => ({ name, filter: () => true })) },
      'plugin x.js: filters[1].name a is there twice',
    ],
  ])('say in one sentence what is wrong with what a module exports: %j', (module, message) => {
    expect(() => readPlugin('x.js', module)).toThrow(message);
  });
});
