import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { readLines } from '../../model/read-lines.js';
import type { ContainerSpec } from './container-spec.js';
import { type EngineClient, EngineError } from './engine-client.js';
import { taggedImage } from './tagged-image.js';

export interface ImageFacts {
  readonly id: string;
  /** As a registry names it; an image that was made here has none. */
  readonly digest: string | undefined;
  readonly user: string;
}

export interface ContainerState {
  readonly status: string;
  readonly isRunning: boolean;
  readonly exitCode: number;
  readonly isOutOfMemory: boolean;
  readonly error: string;
}

export interface ContainerFacts {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface EngineUsage {
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
}

/** One line of what an engine tells while it pulls. */
export interface PullLine {
  readonly id?: string;
  readonly status?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
  readonly error?: string;
}

/** What is asked of an engine, call by call. Answers are a parsed boundary: only what is used is looked at. */
export class ContainerEngine {
  constructor(private readonly client: EngineClient) {}

  async version(signal: AbortSignal): Promise<string> {
    const found = await this.client.ask({ method: 'GET', path: '/version', signal });
    return (found as { Version?: string }).Version ?? 'unknown';
  }

  /** Undefined if the image is not here. */
  async image(reference: string): Promise<ImageFacts | undefined> {
    const found = (await this.#orUndefined(
      this.client.ask({ method: 'GET', path: `/images/${encodeURIComponent(reference)}/json` }),
    )) as { Id: string; RepoDigests?: readonly string[]; Config?: { User?: string } } | undefined;
    if (found === undefined) return undefined;
    return { id: found.Id, digest: found.RepoDigests?.[0], user: found.Config?.User ?? '' };
  }

  async *pull(reference: string, signal: AbortSignal): AsyncGenerator<PullLine, void> {
    // Asked for an image without a tag, Docker pulls those of all its tags.
    const query = { fromImage: taggedImage(reference) };
    const response = await this.client.stream({ method: 'POST', path: '/images/create', query, signal });
    for await (const line of readLines(response)) yield JSON.parse(line) as PullLine;
  }

  /** Its id; that of the one that has the name, if there is one. */
  async create(name: string, spec: ContainerSpec): Promise<{ readonly id: string; readonly isNew: boolean }> {
    try {
      const query = { name };
      const made = await this.client.ask({ method: 'POST', path: '/containers/create', query, body: spec });
      return { id: (made as { Id: string }).Id, isNew: true };
    } catch (error) {
      if (!(error instanceof EngineError) || error.status !== 409) throw error;
      const found = await this.client.ask({ method: 'GET', path: `/containers/${name}/json` });
      return { id: (found as { Id: string }).Id, isNew: false };
    }
  }

  async start(id: string): Promise<void> {
    await this.client.ask({ method: 'POST', path: `/containers/${id}/start` });
  }

  /** Asks it to end and waits, then ends it. */
  async stop(id: string, graceSeconds: number): Promise<void> {
    const t = String(Math.ceil(graceSeconds));
    const response = await this.client.stream({
      method: 'POST',
      path: `/containers/${id}/stop`,
      query: { t },
    });
    response.resume();
  }

  async remove(id: string): Promise<void> {
    const query = { force: 'true', v: 'true' };
    await this.#orUndefined(this.client.ask({ method: 'DELETE', path: `/containers/${id}`, query }));
  }

  /** Resolves when it does not run any more. */
  async wait(id: string): Promise<void> {
    const response = await this.client.stream({ method: 'POST', path: `/containers/${id}/wait` });
    for await (const _ of response);
  }

  async state(id: string): Promise<ContainerState | undefined> {
    const found = (await this.#orUndefined(
      this.client.ask({ method: 'GET', path: `/containers/${id}/json` }),
    )) as
      | { State: { Status: string; Running: boolean; ExitCode: number; OOMKilled?: boolean; Error?: string } }
      | undefined;
    if (found === undefined) return undefined;
    const { Status, Running, ExitCode, OOMKilled = false, Error: error = '' } = found.State;
    return { status: Status, isRunning: Running, exitCode: ExitCode, isOutOfMemory: OOMKilled, error };
  }

  /** All that carry the label, running or not. */
  async list(label: string): Promise<readonly ContainerFacts[]> {
    const query = { all: 'true', filters: JSON.stringify({ label: [label] }) };
    const found = (await this.client.ask({ method: 'GET', path: '/containers/json', query })) as readonly {
      Id: string;
      Labels: Readonly<Record<string, string>>;
    }[];
    return found.map(({ Id, Labels }) => ({ id: Id, labels: Labels }));
  }

  logs(id: string, sinceSeconds: number, isFollowed: boolean, signal: AbortSignal): Promise<IncomingMessage> {
    const query = {
      ...{ stdout: 'true', stderr: 'true', timestamps: 'true', since: String(sinceSeconds) },
      ...(isFollowed && { follow: 'true' }),
    };
    return this.client.stream({ method: 'GET', path: `/containers/${id}/logs`, query, signal });
  }

  async usage(id: string): Promise<EngineUsage> {
    const query = { stream: 'false', 'one-shot': 'true' };
    const found = (await this.client.ask({ method: 'GET', path: `/containers/${id}/stats`, query })) as {
      cpu_stats?: { cpu_usage?: { total_usage?: number } };
      memory_stats?: { usage?: number };
    };
    return {
      cpuSeconds: (found.cpu_stats?.cpu_usage?.total_usage ?? 0) / 1e9,
      memoryBytes: found.memory_stats?.usage ?? 0,
    };
  }

  async createExec(id: string, command: readonly string[], hasTty: boolean): Promise<string> {
    const body = { AttachStdin: true, AttachStdout: true, AttachStderr: true, Tty: hasTty, Cmd: command };
    return (
      (await this.client.ask({ method: 'POST', path: `/containers/${id}/exec`, body })) as { Id: string }
    ).Id;
  }

  startExec(exec: string, hasTty: boolean): Promise<Duplex> {
    return this.client.hijack({
      ...{ method: 'POST', path: `/exec/${exec}/start`, body: { Detach: false, Tty: hasTty } },
    });
  }

  async resizeExec(exec: string, columns: number, rows: number): Promise<void> {
    const query = { w: String(columns), h: String(rows) };
    await this.client.ask({ method: 'POST', path: `/exec/${exec}/resize`, query });
  }

  async execState(exec: string): Promise<{ isRunning: boolean; exitCode: number; pid: number }> {
    const { Running, ExitCode, Pid } = (await this.client.ask({
      method: 'GET',
      path: `/exec/${exec}/json`,
    })) as {
      Running: boolean;
      ExitCode: number | null;
      Pid?: number;
    };
    return { isRunning: Running, exitCode: ExitCode ?? 0, pid: Pid ?? 0 };
  }

  async #orUndefined<T>(asked: Promise<T>): Promise<T | undefined> {
    try {
      return await asked;
    } catch (error) {
      if (error instanceof EngineError && error.isNotThere) return undefined;
      throw error;
    }
  }
}
