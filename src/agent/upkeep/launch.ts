import type { NodeBinding } from '../../model/node-stream.js';
import type { Template } from '../../model/parts/template.js';
import { variablePart } from '../../model/variable-part.js';
import type { Launch } from '../runner.js';

/** What jobs are told of where they run. */
export interface Place {
  readonly node: string;
  readonly region: string;
  readonly zone: string;
}

export type WholeBinding = NodeBinding & { readonly template: Template };

type Variables = Readonly<Record<string, string>>;

/** One execution of a replica with everything in it expanded: what comes out, a runner takes as it is. */
export function launchOf(binding: WholeBinding, execution: number, place: Place): Launch {
  const { run } = binding.template;
  const env = environmentOf(binding, execution, place);
  const expand = (words: readonly string[] | undefined): readonly string[] | undefined =>
    words?.map((word) => expanded(word, env));
  const { command, args } =
    run.process === undefined ? (run.container ?? {}) : { ...run.process, args: undefined };
  return { binding, execution, command: expand(command), args: expand(args), env };
}

/** The environment: what the template gives, then what Berth says, which is never overridden. */
function environmentOf(binding: WholeBinding, execution: number, place: Place): Variables {
  const { replica, workload, slot, fence, ports = {}, devices = {} } = binding;
  const said: Record<string, string> = {
    BERTH_TENANT: replica.tenant,
    BERTH_WORKLOAD: workload,
    BERTH_SLOT: slot,
    BERTH_REPLICA: replica.name,
    BERTH_INCARNATION: /-(\d+)$/.exec(replica.name)?.[1] ?? '',
    BERTH_EXECUTION: String(execution),
    BERTH_FENCE: fence,
    BERTH_NODE: place.node,
    BERTH_REGION: place.region,
    BERTH_ZONE: place.zone,
    ...Object.fromEntries(
      Object.entries(ports).map(([name, port]) => [`BERTH_PORT_${variablePart(name)}`, String(port)]),
    ),
    ...Object.fromEntries(
      Object.entries(devices).map(([name, ids]) => [`BERTH_DEVICES_${variablePart(name)}`, ids.join(',')]),
    ),
  };
  // A value may name variables of Berth and those given before it.
  const given: Record<string, string> = {};
  for (const { name, value } of binding.template.run.env ?? [])
    given[name] = expanded(value, { ...given, ...said });
  return { ...given, ...said };
}

/** Puts variables in place of `$(NAME)`. What names none stays as it is, and `$$(NAME)` is the text `$(NAME)`. */
export const expanded = (text: string, variables: Variables): string =>
  text.replaceAll(/\$(\$?)\(([A-Za-z_][A-Za-z0-9_.-]*)\)/g, (whole, escape: string, name: string) =>
    escape === '$' ? whole.slice(1) : Object.hasOwn(variables, name) ? (variables[name] ?? whole) : whole,
  );
