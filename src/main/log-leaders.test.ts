import { describe, expect, it } from 'vitest';
import type { Lease } from '../model/kinds/lease.js';
import type { ObjectChange, Objects } from '../model/ports.js';
import type { LogEvent } from './log.js';
import { logLeaders } from './log-leaders.js';

const lease = (name: string, holder: string, number: number, renewedAt = ''): Lease =>
  ({
    ...{ apiVersion: 'berth.dev/v1', kind: 'Lease', metadata: { name } },
    spec: {
      ...{ holder, epoch: { cell: 1, number }, durationSeconds: 15, address: `https://${holder}:1` },
      ...{ acquiredAt: `at ${number}`, renewedAt },
    },
  }) as unknown as Lease;

function logged(first: readonly Lease[], changes: readonly Lease[]): readonly LogEvent[] {
  const events: LogEvent[] = [];
  let tell: (change: ObjectChange) => void = () => undefined;
  const objects: Pick<Objects, 'list' | 'follow'> = {
    list: () => first as never,
    follow: (onChange) => (tell = onChange),
  };
  const parts = {
    objects,
    holder: 'me',
    level: 'info' as const,
    log: (event: LogEvent) => events.push(event),
  };
  logLeaders(parts, new AbortController().signal);
  for (const object of changes)
    tell({ type: 'MODIFIED', kind: 'Lease', version: 1, object, before: undefined });
  return events;
}

const shown = ({ object, message, fields }: LogEvent): string =>
  `${object}: ${message}: ${fields?.['holder']} ${fields?.['epoch']} since ${fields?.['since']}`;

describe('who leads', () => {
  it('is logged once for every term, with its epoch and since when, and not for renewals', () => {
    const events = logged(
      [lease('detector', 'other', 3), lease('node-n1', 'n1', 1)],
      [
        lease('detector', 'other', 3, 'later'),
        lease('detector', '', 3),
        lease('detector', 'me', 4),
        lease('detector', 'me', 4, 'later'),
        lease('node-n1', 'n1', 2),
        lease('scheduler', 'other', 1),
      ],
    );
    expect(events.map(shown)).toEqual([
      'detector: another server leads: other 1.3 since at 3',
      'detector: nobody leads:  1.3 since at 3',
      'detector: this server leads: me 1.4 since at 4',
      'scheduler: another server leads: other 1.1 since at 1',
    ]);
    expect(events[0]?.fields?.['address']).toBe('https://other:1');
  });
});
