/** A name as it stands in the name of an environment variable, which shells take only with letters, digits and _. */
export const variablePart = (name: string): string => name.replaceAll(/[^A-Za-z0-9_]/g, '_');
