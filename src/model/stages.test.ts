import { describe, expect, it } from 'vitest';
import {
  isEdge,
  isTerminal,
  ownsEdge,
  rulesOfEdge,
  stageRules,
  stages,
  type Stage,
  type StageActor,
} from './stages.js';

const terminal = stages.filter(isTerminal);

describe('the stage graph', () => {
  it('[S6] lets nothing leave a terminal stage', () => {
    expect(terminal).toEqual(['Succeeded', 'Failed', 'Released']);
    for (const from of terminal) expect(stages.filter((to) => isEdge(from, to))).toEqual([]);
  });

  it('has no edge from a stage to itself', () => {
    expect(stages.filter((stage) => isEdge(stage, stage))).toEqual([]);
  });

  it('reaches every stage from the start, and a terminal one from every stage', () => {
    const reachable = (from: Stage | 'none'): Set<Stage> => {
      const found = new Set<Stage>();
      const visit = (stage: Stage | 'none'): void => {
        for (const to of stages) {
          if (!found.has(to) && isEdge(stage, to)) {
            found.add(to);
            visit(to);
          }
        }
      };
      visit(from);
      return found;
    };
    expect(reachable('none').size).toBe(stages.length);
    for (const stage of stages.filter((each) => !isTerminal(each))) {
      expect([...reachable(stage)].some(isTerminal), stage).toBe(true);
    }
  });

  it('gives every rule an owner and evidence', () => {
    for (const rule of stageRules) {
      expect(rule.owners.length).toBeGreaterThan(0);
      expect(rule.evidence).not.toBe('');
    }
  });

  it.each([
    ['workload-controller', 'none', 'Queued'],
    ['scheduler', 'Queued', 'Scheduled'],
    ['scheduler', 'Queued', 'Bound'],
    ['scheduler', 'Scheduled', 'Bound'],
    ['agent', 'Bound', 'Starting'],
    ['agent', 'Starting', 'Ready'],
    ['endpoints-controller', 'Ready', 'Serving'],
    ['endpoints-controller', 'Serving', 'Ready'],
    ['agent', 'Serving', 'Starting'],
    ['agent', 'Starting', 'Failed'],
    ['repair-controller', 'Releasing', 'Unknown'],
    ['agent', 'Unknown', 'Serving'],
    ['drain', 'Serving', 'Releasing'],
    ['user', 'Unknown', 'Releasing'],
    ['agent', 'Releasing', 'Released'],
    ['repair-controller', 'Unknown', 'Released'],
    ['workload-controller', 'Queued', 'Released'],
  ] as const)('[S6] lets the %s move %s to %s', (actor, from, to) => {
    expect(ownsEdge(actor, from, to)).toBe(true);
  });

  it.each([
    ['scheduler', 'Admitted', 'Bound'],
    ['scheduler', 'Bound', 'Starting'],
    ['agent', 'Queued', 'Bound'],
    ['agent', 'Ready', 'Serving'],
    ['workload-controller', 'Unknown', 'Released'],
    ['workload-controller', 'Bound', 'Released'],
    ['user', 'Serving', 'Released'],
    ['drain', 'Queued', 'Releasing'],
    ['repair-controller', 'Queued', 'Unknown'],
    ['endpoints-controller', 'Unknown', 'Serving'],
    ['agent', 'Releasing', 'Ready'],
  ] as const)('[S6] does not let the %s move %s to %s', (actor: StageActor, from: Stage, to: Stage) => {
    expect(ownsEdge(actor, from, to)).toBe(false);
  });

  it('says what proves each way to Released', () => {
    expect(rulesOfEdge('Unknown', 'Released').map((rule) => rule.owners)).toEqual([
      ['agent'],
      ['repair-controller'],
    ]);
  });
});
