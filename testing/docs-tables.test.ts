import { join } from 'node:path';
import { expect, it } from 'vitest';
import { renderTables } from './docs-tables.js';
import { projectRoot } from './source-tree.js';

it('docs/tables.md says what the model says', async () => {
  await expect(renderTables()).toMatchFileSnapshot(join(projectRoot, 'docs/tables.md'));
});
