import { describe, expect, it } from 'vitest';
import { kinds } from '../model/kinds.js';
import { parseIdentity } from './identity/identity.js';
import { reviewRules } from './rules-review.js';

interface Rule {
  readonly verbs: string[];
  readonly resources: string[];
  readonly resourceNames?: string[];
}

const rulesOf = (identity: string, namespace: string): string[] => {
  const review = reviewRules(kinds, parseIdentity(identity), { spec: { namespace } }) as {
    status: { resourceRules: Rule[] };
  };
  return review.status.resourceRules.map(
    ({ verbs, resources, resourceNames }) =>
      `${resources.join()}${resourceNames === undefined ? '' : `[${resourceNames.join()}]`} ${verbs.join()}`,
  );
};

describe('the review of rules', () => {
  it('says what an editor may in its tenant: write workloads, read the rest, and its own tenant', () => {
    const rules = rulesOf('tenant:fraud:editor', 'fraud');
    expect(rules).toContain('workloads get,list,watch,update,patch,create,delete,deletecollection');
    expect(rules).toContain('workloads/scale get,update,patch');
    expect(rules).toContain('replicas get,list,watch');
    expect(rules).toContain('tenants[fraud] get,list,watch');
    expect(rules.join()).not.toContain('tokens');
  });

  it('says that there is nothing in another tenant, and what nodes and owners may', () => {
    expect(rulesOf('tenant:fraud:editor', 'shop').filter((rule) => rule.startsWith('workloads'))).toEqual([]);
    expect(rulesOf('node:n1', 'default')).toContain('nodes/status[n1] get,update,patch');
    expect(rulesOf('tenant:fraud:owner', 'fraud')).toContain('tokens get,list,create,delete');
  });

  it('needs a namespace', () => {
    expect(() => reviewRules(kinds, { kind: 'admin' }, {})).toThrow('spec.namespace: required');
  });
});
