const debugVariable = 'BERTH_DEBUG';

/** All that is known of an error, with its causes; undefined unless BERTH_DEBUG asks for it. */
export function debugText(error: unknown, environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const isAsked = !['', '0', undefined].includes(environment[debugVariable]);
  return isAsked && error instanceof Error ? withCauses(error) : undefined;
}

/**
 * An unexpected error in one line: what failed, where in the program, and how to see more. With BERTH_DEBUG=1 the stack
 * trace follows.
 */
export function defectText(error: unknown): string {
  const line = defectLine(error);
  const more = debugText(error);
  return more === undefined ? `${line}; ${debugVariable}=1 shows the stack trace` : `${line}\n${more}`;
}

/** An unexpected error in one line: what failed, and where in the program. */
export const defectLine = (error: unknown): string =>
  error instanceof Error ? `${oneLine(error.message)}${placeOf(error)}` : oneLine(String(error));

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
