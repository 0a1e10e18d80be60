import { amountOf } from '../../model/amount.js';
import { parseQuantity } from '../../model/quantity.js';
import type { Launch } from '../runner.js';
import type { RunLimits, RunSpec } from './machine.js';

/** Who the processes of a tenant run as. */
export type UserOf = (tenant: string) => NonNullable<RunSpec['user']>;

/** An execution as a supervisor is asked for it. */
export function runSpecOf(
  { binding, execution, command, env }: Launch,
  { node, userOf }: { readonly node: string; readonly userOf?: UserOf },
): RunSpec {
  const { replica, workload, slot, isFenced, template } = binding;
  const { uid, tenant, name } = replica;
  const workingDirectory = template.run.process?.workingDirectory;
  const { scratchLimit } = template;
  const user = userOf?.(tenant);
  return {
    ...{ uid, execution, isFenced, command: command ?? [], env },
    labels: { tenant, workload, replica: name, uid, slot, execution, node },
    limits: limitsOf(template.resources ?? {}),
    ...(scratchLimit !== undefined && { scratchBytes: wholeUnits(scratchLimit) }),
    ...(workingDirectory !== undefined && { workingDirectory }),
    ...(user !== undefined && { user }),
  };
}

/** Bytes are whole; a part of one is one more. */
const wholeUnits = (value: string | number): number => Math.ceil(Number(parseQuantity(value)) / 1e9);

function limitsOf(resources: Parameters<typeof amountOf>[0]): RunLimits {
  const { cpuMilli, memoryBytes } = amountOf(resources);
  return {
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(cpuMilli !== undefined && { cpuMillis: cpuMilli }),
  };
}
