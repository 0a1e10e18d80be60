import { join } from 'node:path';
import { expect, it } from 'vitest';
import { evidencePage } from './evidence-page.js';
import { projectRoot } from './source-tree.js';

it('docs/evidence.md says what the table of evidence says', async () => {
  await expect(evidencePage()).toMatchFileSnapshot(join(projectRoot, 'docs/evidence.md'));
});
