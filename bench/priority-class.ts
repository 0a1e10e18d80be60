// A kind that no controller acts on, so that only the API is measured; about as large as a workload.
export const classes = '/apis/berth.dev/v1/priorityclasses';

const description = 'What the class is for, at some length. '.repeat(15);

export const priorityClass = (name: string): string =>
  JSON.stringify({
    apiVersion: 'berth.dev/v1',
    kind: 'PriorityClass',
    metadata: { name, labels: { app: 'bench' } },
    spec: { value: 1, description },
  });
