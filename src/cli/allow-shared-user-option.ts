import { Option } from 'commander';

/** For commands that run an agent. */
export const allowSharedUserOption = (): Option =>
  new Option(
    '--allow-shared-user',
    'run processes of all tenants where they would share one user (not run as root) or see each other (no pid namespaces); without it tenant default only',
  );
