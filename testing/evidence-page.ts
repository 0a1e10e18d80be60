import { deeds, evidenceTable, type Observer } from '../src/observe/evidence.js';
import { table } from './docs-tables.js';

/** The page docs/evidence.md: what each signal may decide and what never. Only the table in observe decides what it says. */
export function evidencePage(): string {
  const rows = Object.values(evidenceTable).map(({ signal, lies, may, never }) => {
    const granted = (Object.entries(may) as [Observer, readonly (keyof typeof deeds)[]][]).map(
      ([observer, those]) => `${observer}: ${those.map((deed) => deeds[deed]).join('; ')}`,
    );
    return [signal, lies, granted.join('<br>') || 'nothing', never];
  });
  return `# Evidence

A control plane acts on delayed observations. This table says what each of them may decide, for whom, and what it may
never decide. It is \`src/observe/evidence.ts\`, written out: \`npm test -- evidence-page -u\` writes it again. A controller
names the signal it acts on; what the table does not allow does not compile, and stops the process if it is tried all the same.

${table(['signal', 'how it lies', 'may decide', 'may never decide'], rows)}
`;
}
