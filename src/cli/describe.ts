import type { Command } from 'commander';
import type { BerthObject } from '../client/client.js';
import { wallMs } from '../env/instant.js';
import { shownAge } from '../model/age.js';
import { clientCommand } from './client-command.js';
import { eventsAbout } from './events-about.js';
import { apiVersionOf, pathIn, type ServedKind } from './kind-lookup.js';
import { targetsOf } from './object-words.js';
import { formatValue } from './print-objects.js';
import { formatTable } from './print-table.js';
import { inSession, type ClientOptions, type Session } from './session.js';
import { painted, print, say } from './terminal.js';

export const describeCommand = (): Command =>
  clientCommand(
    'describe',
    'show all of objects for people: KIND [NAME…] or KIND/NAME…, with conditions and events',
  )
    .argument('<words...>', 'KIND [NAME…] or KIND/NAME…')
    .option('-l, --selector <labels>', 'those with these labels')
    .action((words: string[], options: ClientOptions & { selector?: string }) =>
      inSession(options, (session) => describeAll(session, words, options.selector)),
    );

async function describeAll(session: Session, words: readonly string[], selector?: string): Promise<void> {
  let isFirst = true;
  for (const { kind, names } of targetsOf(words, await session.kinds())) {
    const path = pathIn(kind, session.namespace);
    const objects =
      names.length > 0
        ? await Promise.all(names.map((name) => session.client.get(path, name)))
        : (await session.client.list(path, { labelSelector: selector })).items;
    if (objects.length === 0) say(`no ${kind.plural}`);
    for (const object of objects) {
      if (!isFirst) print('\n');
      isFirst = false;
      print(await description(session, kind, object));
    }
  }
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

async function description(session: Session, kind: ServedKind, object: BerthObject): Promise<string> {
  const { apiVersion: _, kind: __, metadata, status, ...rest } = object;
  const ago = (time: string | undefined): string =>
    time === undefined ? '' : shownAge(wallMs(session.env.clock.wall()) - Date.parse(time));
  const { conditions = [], ...state } = (status ?? {}) as { readonly conditions?: readonly Condition[] };
  const owners = metadata.ownerReferences?.map(({ kind: owner, name }) => `${owner.toLowerCase()}/${name}`);
  const head = [
    ['Name', metadata.name],
    ['Namespace', metadata.namespace],
    ['Kind', `${kind.kind} (${apiVersionOf(kind)})`],
    ['Created', `${metadata.creationTimestamp} (${ago(metadata.creationTimestamp)} ago)`],
    ['Being deleted', metadata.deletionTimestamp && `since ${metadata.deletionTimestamp}`],
    ['Waits for', metadata.deletionTimestamp && metadata.finalizers?.join(', ')],
    ['Owned by', owners?.join(', ')],
    ['Labels', pairs(metadata.labels)],
    ['Annotations', pairs(metadata.annotations)],
  ].flatMap(([name = '', value]) =>
    value === undefined || value === '' ? [] : [`${`${name}:`.padEnd(15)}${value}`],
  );
  const parts = Object.entries({ ...rest, status: state }).filter(([, value]) => hasContents(value));
  const blocks = await Promise.all(
    parts.map(async ([name, value]) => block(capital(name), await formatValue(value, 'yaml'))),
  );
  const events = await eventsAbout(session, kind, object);
  return [
    head.join('\n'),
    ...blocks,
    conditions.length === 0 ? '' : block('Conditions', conditionTable(conditions, ago)),
    block('Events', events ?? '(none)'),
  ]
    .filter((part) => part !== '')
    .join('\n');
}

const capital = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1);

const block = (title: string, text: string): string =>
  `${painted('bold', `${title}:`, process.stdout)}\n${text.replaceAll(/^(?=.)/gm, '  ')}`;

const hasContents = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : value !== undefined;

const pairs = (map: Readonly<Record<string, string>> | undefined): string =>
  Object.entries(map ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');

const conditionTable = (
  conditions: readonly Condition[],
  ago: (time: string | undefined) => string,
): string =>
  formatTable(
    ['TYPE', 'STATUS', 'FOR', 'REASON', 'MESSAGE'],
    conditions.map(({ type, status, lastTransitionTime, reason = '', message = '' }) => [
      type,
      status,
      ago(lastTransitionTime),
      reason,
      message,
    ]),
  );
