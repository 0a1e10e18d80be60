import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Explanation } from '../model/explanation.js';
import { serviceSpec, shortLease, within, WorkedCell } from './worked.fixture.js';

const capacity = 'capacity: { cpu: "2", memory: 8Gi }';
const on = (pool: string) => ({ placement: { nodeSelector: { pool } } });

describe('003-stuck-replica: where a replica is stuck is what berth why says', () => {
  let cell: WorkedCell;
  beforeAll(async () => {
    cell = await WorkedCell.start('worked-stuck');
    await cell.put('priorityclasses', 'critical', { value: 100 });
    const pool = (name: string, more: string) =>
      `    - { name: node-${name}, count: 1, ${capacity}, labels: { pool: ${name} }, ${more} }\n`;
    await cell.play(
      'talking',
      '  profiles:\n' +
        '    slow: { startSeconds: [3000, 3000] }\n' +
        // Longer than a stream waits for an answer: it is opened again and again, and no report ever arrives.
        '    unheard: { lagSeconds: [20, 20] }\n' +
        '    stubborn: { stopSeconds: [3000, 3000] }\n' +
        '  pools:\n' +
        pool('slow', 'profile: slow') +
        pool('unheard', 'profile: unheard') +
        pool('stubborn', 'profile: stubborn'),
    );
    const lost = await cell.play('lost', `  pools:\n${pool('lost', shortLease)}`);
    const waits = { onNodeLost: { action: 'Wait', afterSeconds: 16 } };
    await cell.service('repairing', 1, { ...on('lost'), ...waits });
    const grace = { ...on('stubborn'), disruption: { maxUnavailable: 1 } };
    const filling = { resources: { cpu: '2' }, terminationGraceSeconds: 3000 };
    await cell.put('workloads', 'filling', withTemplate(grace, filling), 'default');
    await cell.untilServing('repairing', 1);
    lost.silence();
    await cell.untilServing('filling', 1);
    const critical = { ...on('stubborn'), priorityClassName: 'critical' };
    await cell.put('workloads', 'binding', withTemplate(critical, { resources: { cpu: '2' } }), 'default');
    await cell.service('desired', 1, { suspend: true });
    await cell.service('queued', 1, on('nowhere'));
    await cell.service('starting', 1, on('slow'));
    await cell.service('reporting', 1, on('unheard'));
  }, 180_000);
  afterAll(() => cell.close());

  const answers: string[] = [];
  it.each([
    ['the desired object', 'desired', /it waits at Authority: Suspended/, 'workload-controller'],
    ['the queue', 'queued', /cannot be placed: none of \d nodes takes/, 'scheduler'],
    ['the binding', 'replica/binding-0-1', /holds capacity and is not bound yet/, 'scheduler'],
    ['a node-local action', 'replica/starting-0-1', /is being started on node-slow-1/, 'agent:node-slow-1'],
    [
      'the status update',
      'replica/reporting-0-1',
      /is bound on node-unheard-1 and its agent has not reported a start/,
      'agent:node-unheard-1',
    ],
    [
      'the repair decision',
      'replica/repairing-0-1',
      /is of unknown fate on node-lost-1: LeaseExpired: nobody knows/,
      'repair-controller',
    ],
  ])(
    '[L6] %s',
    async (_, target, answer, nextMove) => {
      let told: Explanation | undefined;
      await expect
        .poll(async () => (told = await cell.why(target)).answer, { ...within, interval: 1_000 })
        .toMatch(answer);
      expect(told?.nextMove).toBe(nextMove);
      answers.push(told?.answer ?? '');
    },
    120_000,
  );

  it('six causes are six answers, and the last one says what a person could do', async () => {
    expect(new Set(answers).size).toBe(6);
    await expect
      .poll(async () => (await cell.why('replica/repairing-0-1')).notes.join('\n'), {
        ...within,
        interval: 1_000,
      })
      .toMatch(/NeedsHuman: NodeSilent .*berth attest/);
    await cell.auditOrThrow();
  }, 120_000);
});

const withTemplate = (more: object, template: object): object => ({
  ...serviceSpec(1, more),
  template: { run: { process: { command: ['x'] } }, ...template },
});
