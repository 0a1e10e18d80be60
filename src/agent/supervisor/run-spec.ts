import { amountOf } from '../../model/amount.js';
import type { Launch } from '../runner.js';
import type { RunLimits, RunSpec } from './machine.js';

/** An execution as a supervisor is asked for it. */
export function runSpecOf(
  { binding, execution, command, env }: Launch,
  { node, user }: { readonly node: string; readonly user?: RunSpec['user'] },
): RunSpec {
  const { replica, workload, slot, isFenced, template } = binding;
  const { uid, tenant, name } = replica;
  const workingDirectory = template.run.process?.workingDirectory;
  return {
    ...{ uid, execution, isFenced, command: command ?? [], env },
    labels: { tenant, workload, replica: name, uid, slot, execution, node },
    limits: limitsOf(template.resources ?? {}),
    ...(workingDirectory !== undefined && { workingDirectory }),
    ...(user !== undefined && { user }),
  };
}

function limitsOf(resources: Parameters<typeof amountOf>[0]): RunLimits {
  const { cpuMilli, memoryBytes } = amountOf(resources);
  return {
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(cpuMilli !== undefined && { cpuMillis: cpuMilli }),
  };
}
