import { Gauge, Registry } from 'prom-client';
import type { ReplicaUsage } from './replica-usage.js';

const labelNames = ['tenant', 'workload', 'replica'] as const;

/** What an agent's /metrics tells of the replicas on its node, in Prometheus' text form. docs/agents.md lists it. */
export class AgentMetrics {
  readonly #registry = new Registry();
  readonly #cpu = this.#gauge(
    'berth_replica_cpu_seconds',
    'Processor time that the present execution has used.',
  );
  readonly #memory = this.#gauge('berth_replica_memory_bytes', 'Memory that the present execution uses.');
  readonly #restarts = this.#gauge('berth_replica_restarts', 'How often it was started again on this node.');
  readonly #oomKills = this.#gauge(
    'berth_replica_oom_kills',
    'How often something of it was ended on this node for want of memory.',
  );
  readonly #replicas = new Gauge({
    name: 'berth_agent_replicas',
    help: 'Replicas on this node, running or not.',
    registers: [this.#registry],
  });

  constructor(private readonly usage: () => Iterable<ReplicaUsage>) {}

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    for (const gauge of [this.#cpu, this.#memory, this.#restarts, this.#oomKills]) gauge.reset();
    let replicas = 0;
    for (const { tenant, workload, replica, restarts, oomKills, running } of this.usage()) {
      const labels = { tenant, workload, replica };
      replicas += 1;
      this.#restarts.set(labels, restarts);
      this.#oomKills.set(labels, oomKills);
      if (running === undefined) continue;
      this.#cpu.set(labels, running.cpuSeconds);
      this.#memory.set(labels, running.memoryBytes);
    }
    this.#replicas.set(replicas);
    return this.#registry.metrics();
  }

  #gauge(name: string, help: string): Gauge<(typeof labelNames)[number]> {
    return new Gauge({ name, help, labelNames, registers: [this.#registry] });
  }
}
