import { affinityInDomain, affinityOnNode } from './affinity.js';
import { balance } from './balance.js';
import { failures } from './failures.js';
import { fit } from './fit.js';
import { locality } from './locality.js';
import { preferNoSchedule } from './prefer-no-schedule.js';
import type { DomainScore, NodeScore, ShapeScore } from './score.js';
import { spareDevices } from './spare-devices.js';
import { spreadOverDomains, spreadOverNodes } from './spread.js';

/** Every score, by how much of a node it depends on. Two of one name add up to at most 1. */
export const shapeScores: readonly ShapeScore[] = [locality, preferNoSchedule];
export const nodeScores: readonly NodeScore[] = [
  fit,
  balance,
  spareDevices,
  spreadOverNodes,
  affinityOnNode,
  failures,
];
export const domainScores: readonly DomainScore[] = [spreadOverDomains, affinityInDomain];
