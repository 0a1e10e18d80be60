import type { AuditReport } from '../commit/audit-store.js';
import { type ForwardedOperation, forwardedOperations } from '../commit/forwarding-authority.js';
import { BerthError } from '../model/errors.js';
import { nearest } from '../model/nearest.js';
import type { Authority, Outcome } from '../model/ports.js';
import { type ApiRequest, type ApiResponse, valueResponse } from './api-request.js';
import { authorize, type Verb } from './identity/authorize.js';
import { formatIdentity } from './identity/identity.js';
import { type AttestationParts, attestNode, withdrawAttestation } from './attestation-resource.js';
import { type FenceParts, setFence, showFence } from './fence-resource.js';
import { checkOperationInput } from './operation-inputs.js';
import { bodyTypeOf, readBody } from './read-body.js';
import type { ResourcePath } from './resource-path.js';

export const authorityGroup = 'authority.berth.dev';

export interface AuthorityParts {
  /** The authority of this process: what another server forwards is done here and forwarded no further. */
  readonly authority: Authority;
  readonly audit: () => Promise<AuditReport>;
  readonly fence: FenceParts;
  readonly attestations: AttestationParts;
  /** Told of each operation that was done for another server. */
  readonly onReceived: (outcome: string) => void;
}

const isOperation = (name: string): name is ForwardedOperation =>
  (forwardedOperations as readonly string[]).includes(name);

/** The authority over the API: operations that other servers forward, and the audit of its books. */
export class AuthorityResource {
  #isAuditing = false;

  constructor(private readonly parts: AuthorityParts) {}

  /** What a path of the group is about and what a request would do to it. */
  static route({ method }: Pick<ApiRequest, 'method'>, path: ResourcePath): { verb: Verb; kindName: string } {
    const { plural, name, namespace, subresource } = path;
    const isThere = namespace === undefined && subresource === undefined && path.version === 'v1';
    const isAudit = isThere && plural === 'audit' && name === undefined;
    const isFence = isThere && plural === 'fence' && name === undefined;
    const isAttestation =
      namespace === undefined &&
      path.version === 'v1' &&
      plural === 'attestations' &&
      name !== undefined &&
      (subresource === undefined || subresource === 'withdraw');
    const isOperations = isThere && plural === 'operations' && name !== undefined;
    if (!isAudit && !isFence && !isOperations && !isAttestation)
      throw new BerthError(
        'NotFound',
        `${authorityGroup} has only v1/audit, v1/fence, v1/attestations/NODE and v1/operations/NAME`,
      );
    const allowed = isAudit ? ['GET'] : isFence ? ['GET', 'POST'] : ['POST'];
    if (!allowed.includes(method))
      throw new BerthError(
        'MethodNotAllowed',
        `${method} is not possible here; allowed is ${allowed.join(', ')}`,
      );
    const kindName = isAudit ? 'Audit' : isFence ? 'Fence' : isAttestation ? 'Attestation' : 'Operation';
    return { verb: method === 'GET' ? 'get' : 'create', kindName };
  }

  async handle(request: ApiRequest, verb: Verb, path: ResourcePath): Promise<ApiResponse> {
    const access = authorize(request.identity, { verb, path: request.path });
    if (!access.allowed) {
      const code = request.identity.kind === 'anonymous' ? 'Unauthorized' : 'Forbidden';
      throw new BerthError(code, `${formatIdentity(request.identity)} may not do this: ${access.reason}`);
    }
    if (path.plural === 'attestations') {
      const { attestations, authority } = this.parts;
      const attest = path.subresource === 'withdraw' ? withdrawAttestation : attestNode;
      return attest(attestations, authority, request, path.name ?? '');
    }
    if (path.name !== undefined) return this.#operate(request, path.name);
    if (path.plural === 'audit') return this.#audit();
    const { fence } = this.parts;
    return verb === 'get' ? showFence(fence) : setFence(fence, this.parts.authority, request);
  }

  async #operate(request: ApiRequest, name: string): Promise<ApiResponse> {
    if (!isOperation(name)) {
      const near = nearest(name, forwardedOperations);
      const hint = near === undefined ? '' : `; did you mean ${near}?`;
      throw new BerthError('NotFound', `no operation ${JSON.stringify(name)} can be forwarded${hint}`);
    }
    const input: unknown = await readBody(bodyTypeOf(request.contentType, ['json']), request.body);
    checkOperationInput(name, input);
    const { authority, onReceived } = this.parts;
    // A parsed boundary: the input has been checked for this operation just now.
    const operate = authority[name].bind(authority) as (
      input: unknown,
    ) => Promise<Outcome<unknown> | readonly Outcome<unknown>[]>;
    const answer = await operate(input);
    for (const { kind } of [answer].flat()) onReceived(kind);
    return valueResponse(200, answer);
  }

  /** One at a time: it reads everything there is. */
  async #audit(): Promise<ApiResponse> {
    if (this.#isAuditing)
      throw new BerthError('TooManyRequests', 'an audit is under way; try again in a moment', {
        details: { retryAfterSeconds: 2 },
      });
    this.#isAuditing = true;
    try {
      const report = await this.parts.audit();
      return valueResponse(200, { kind: 'Audit', apiVersion: `${authorityGroup}/v1`, ...report });
    } finally {
      this.#isAuditing = false;
    }
  }
}
