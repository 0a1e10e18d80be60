import { describe, expect, it } from 'vitest';
import { type BrakeRules, brakesOf, type NodeSilence, shownBrake, usualBrakes } from './brakes.js';

/** So many nodes of a zone, the first of them silent. */
const zone = (name: string, all: number, silent: number, silentMs = 60_000, region = 'eu'): NodeSilence[] =>
  Array.from({ length: all }, (_, index) => ({
    ...{ region, zone: name },
    silentMs: index < silent ? silentMs : undefined,
  }));
const shown = (nodes: readonly NodeSilence[], rules?: BrakeRules): string =>
  brakesOf(nodes, rules)
    .on()
    .map(({ scope, name, state }) => `${scope} ${name} ${state}`)
    .join(', ');
const well = zone('z', 100, 0, 0, 'us');

describe('the brakes of a cell', () => {
  it.each<[string, NodeSilence[], string]>([
    ['a node alone', zone('a', 10, 1), ''],
    ['a node alone of a few', zone('a', 3, 1), ''],
    ['a share of a zone', zone('a', 10, 3), 'Region eu Slow, Zone eu/a Slow'],
    ['most of a zone', zone('a', 10, 6), 'Region eu Stop, Zone eu/a Stop'],
    ['a zone of several', [...zone('a', 5, 5), ...zone('b', 20, 0)], 'Zone eu/a Stop'],
    ['zones too small to have a share', [...zone('a', 2, 2), ...zone('b', 20, 0)], ''],
    ['a region of small zones', [...zone('a', 2, 1), ...zone('b', 2, 1)], 'Region eu Slow'],
    ['a share of a zone for long', zone('a', 10, 4, 301_000), ''],
    ['one more beside those', [...zone('a', 9, 4, 301_000), ...zone('a', 1, 1)], ''],
    [
      'a share beside those',
      [...zone('a', 14, 2, 301_000), ...zone('a', 6, 6)],
      'Region eu Slow, Zone eu/a Slow',
    ],
    ['a zone for long', [...zone('a', 5, 5, 301_000), ...zone('b', 20, 0)], 'Zone eu/a Slow'],
  ])('%s', (_name, nodes, expected) => {
    expect(shown([...well, ...nodes])).toBe(expected);
  });

  it('doubt ourselves when nobody is heard of, for however long', () => {
    expect(shown(zone('a', 2, 2, 1e9))).toBe('Cell  Stop');
    expect(shown(zone('a', 1, 1))).toBe('');
    expect(shown(zone('a', 50, 50, 1e9))).toMatch(/^Cell {2}Stop/);
  });

  it('hold a node by the strongest around it', () => {
    const brakes = brakesOf([...well, ...zone('a', 5, 5), ...zone('b', 5, 0)]);
    expect(brakes.at('eu', 'a').state).toBe('Stop');
    expect(brakes.at('eu', 'b').state).toBe('Slow');
    expect(brakes.at('us', 'z').state).toBe('Off');
    expect(brakes.at('nowhere', 'x').state).toBe('Off');
    expect(brakes.silentAround('eu', 'a')).toBe('5 of 5 nodes of the zone, 5 of 110 nodes of the cell');
    expect(shownBrake(brakes.at('eu', 'a'))).toBe(
      '5 of 5 nodes of zone eu/a are silent: repair there is stopped, and endpoints keep their last known members',
    );
  });

  it('have thresholds that can be set', () => {
    const rules = { ...usualBrakes, slowShare: 0.1, stopShare: 0.2 };
    expect(shown([...well, ...zone('a', 20, 2)], rules)).toMatch(/Zone eu\/a Slow/);
    expect(shown([...well, ...zone('a', 20, 4)], rules)).toMatch(/Zone eu\/a Stop/);
  });
});
