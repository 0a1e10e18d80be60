import type { FieldConflict } from './apply.js';

/** What a Status says about conflicts: one message for people, one cause per field for programs. */
export interface ConflictReport {
  readonly message: string;
  readonly causes: readonly {
    readonly reason: 'FieldManagerConflict';
    readonly message: string;
    readonly field: string;
  }[];
}

function describeManager({ manager, operation, subresource }: FieldConflict): string {
  const through = subresource === undefined ? '' : ` through ${subresource}`;
  return `conflict with ${JSON.stringify(manager)} (${operation}${through})`;
}

export function describeConflicts(conflicts: readonly FieldConflict[]): ConflictReport {
  const fieldsOfManager = new Map<string, string[]>();
  for (const conflict of conflicts) {
    const who = describeManager(conflict);
    fieldsOfManager.set(who, [...(fieldsOfManager.get(who) ?? []), conflict.path]);
  }
  const parts = [...fieldsOfManager].map(([who, paths]) => `${who}: ${paths.join(', ')}`);
  const count = `${conflicts.length} ${conflicts.length === 1 ? 'conflict' : 'conflicts'}`;
  return {
    message: `Apply failed with ${count}: ${parts.join('; ')}`,
    causes: conflicts.map((conflict) => ({
      reason: 'FieldManagerConflict',
      message: describeManager(conflict),
      field: conflict.path,
    })),
  };
}
