import { describe, expect, it } from 'vitest';
import { isOfReplica, namesIn, ReplicaStates } from './replica-states.js';

describe('ReplicaStates', () => {
  it('has one state for a name of a tenant, until it is deleted', () => {
    const states = new ReplicaStates();
    const state = states.at('a', 'r');
    expect(states.at('a', 'r')).toBe(state);
    expect(states.get('a', 'r')).toBe(state);
    expect(states.at('b', 'r')).not.toBe(state);
    states.delete('a', 'r');
    expect(states.get('a', 'r')).toBeUndefined();
    expect(states.get('b', 'r')).toBeDefined();
  });

  it('has each that is charged in the list of one node', () => {
    const states = new ReplicaStates();
    const [first, second] = [states.at('a', 'r1'), states.at('a', 'r2')];
    states.moveCharge(first, undefined, 'n1');
    states.moveCharge(second, undefined, 'n1');
    states.moveCharge(first, 'n1', 'n1');
    expect(states.chargesOn('n1')).toEqual([first, second]);
    states.moveCharge(first, 'n1', 'n2');
    expect([states.chargesOn('n1'), states.chargesOn('n2')]).toEqual([[second], [first]]);
    states.moveCharge(second, 'n1', undefined);
    states.moveCharge(second, 'n1', undefined);
    expect([states.chargesOn('n1'), states.chargesOn('n2')]).toEqual([[], [first]]);
  });

  it('finds tenant and name in the key of either record', () => {
    const keys = ['/o/Replica/a/web-0-1', '/s/Replica/a/web-0-1'];
    expect(keys.map(namesIn)).toEqual(keys.map(() => ({ namespace: 'a', name: 'web-0-1' })));
    expect([...keys, '/o/Reservation/a/web', '/s/Node/_/Replica'].map(isOfReplica)).toEqual([
      ...[true, true],
      ...[false, false],
    ]);
  });
});
