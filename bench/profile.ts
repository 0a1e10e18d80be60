import { Session } from 'node:inspector/promises';

/** Runs something under V8's sampling profiler and says in which functions of the main thread the time went. */
export async function profiled(run: () => Promise<void>): Promise<string[]> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
  await run();
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  const selfMs = new Map<string, number>();
  const names = new Map(
    profile.nodes.map(({ id, callFrame }) => [
      id,
      `${callFrame.functionName || '(anonymous)'} ${callFrame.url.split('/').slice(-2).join('/')}:${callFrame.lineNumber + 1}`,
    ]),
  );
  for (const [index, id] of (profile.samples ?? []).entries()) {
    const name = names.get(id) ?? '?';
    selfMs.set(name, (selfMs.get(name) ?? 0) + (profile.timeDeltas?.[index] ?? 0) / 1000);
  }
  const totalMs = [...selfMs.values()].reduce((sum, ms) => sum + ms, 0);
  return [...selfMs]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 15)
    .map(([name, ms]) => `${((100 * ms) / totalMs).toFixed(1).padStart(5)} %  ${name}`);
}
