const debugVariable = 'BERTH_DEBUG';

const isDebugging = (): boolean => !['', '0', undefined].includes(process.env[debugVariable]);

/** Everything that is known of an error, with its causes, for a person who has asked for it. */
export const debugText = (error: unknown): string | undefined =>
  isDebugging() && error instanceof Error ? withCauses(error) : undefined;

/**
 * An unexpected error in one line: what failed, where in the program, and how to see more. With BERTH_DEBUG=1 the stack
 * trace follows.
 */
export function defectText(error: unknown): string {
  if (!(error instanceof Error)) return oneLine(String(error));
  const text = `${oneLine(error.message)}${placeOf(error)}`;
  const more = debugText(error);
  return more === undefined ? `${text}; ${debugVariable}=1 shows the stack trace` : `${text}\n${more}`;
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** The function and the line that failed, as a report of a defect needs it. */
function placeOf({ stack = '' }: Error): string {
  const [, place] = /\n\s+at (.*)/.exec(stack) ?? [];
  return place === undefined ? '' : ` (at ${place.replace(/(\()?file:\/\/.*\/dist\//, '$1')})`;
}

function withCauses(error: Error): string {
  const own = error.stack ?? error.message;
  return error.cause instanceof Error ? `${own}\ncaused by: ${withCauses(error.cause)}` : own;
}
