import type { Launch, RunEnd } from '../runner.js';
import { pullFailure } from './container-end.js';
import type { ContainerEngine, ImageFacts } from './container-engine.js';
import { EngineError } from './engine-client.js';
import { PullProgress, pullPolicyOf } from './pull-policy.js';

/** That an image cannot be had, as the replica says it. */
export class ImageFailure extends Error {
  constructor(readonly end: RunEnd) {
    super(end.message ?? end.reason);
    this.name = 'ImageFailure';
  }
}

// Progress is for people.
const toldEvery = 20;

/** The image of a launch, pulled if its policy says so: a step that is seen, with how far it is and what came. */
export async function haveImage(
  engine: Pick<ContainerEngine, 'image' | 'pull'>,
  { binding }: Pick<Launch, 'binding'>,
  signal: AbortSignal,
  onStep: (step: string, message: string) => void,
): Promise<ImageFacts> {
  const { container } = binding.template.run;
  if (container === undefined)
    throw new ImageFailure({ reason: 'StartFailed', message: 'the template names no image' });
  const { image } = container;
  const policy = pullPolicyOf(container);
  const here = policy === 'Always' ? undefined : await engine.image(image);
  if (here !== undefined) return here;
  if (policy === 'Never')
    throw new ImageFailure({
      reason: 'ImageNotFound',
      message: `${image} is not on the node, and its pull policy is Never`,
    });
  onStep('Pulling', image);
  await pulled(engine, image, signal, (progress) => onStep('Pulling', `${image}: ${progress}`));
  const facts = await engine.image(image);
  if (facts === undefined) throw new ImageFailure(pullFailure(image, 'it was pulled and is not there'));
  onStep('Pulled', facts.digest ?? facts.id);
  return facts;
}

async function pulled(
  engine: Pick<ContainerEngine, 'pull'>,
  image: string,
  signal: AbortSignal,
  onProgress: (progress: string) => void,
): Promise<void> {
  const progress = new PullProgress();
  let lines = 0;
  let failure: string | undefined;
  try {
    for await (const line of engine.pull(image, signal)) {
      if (line.error !== undefined) failure = line.error;
      progress.take(line);
      lines += 1;
      if (lines % toldEvery === 0) onProgress(progress.toString());
    }
  } catch (error) {
    // The engine itself is away: of the image that says nothing.
    if (!(error instanceof EngineError) && !signal.aborted) throw error;
    failure = error instanceof Error ? error.message : String(error);
  }
  if (failure !== undefined) throw new ImageFailure(pullFailure(image, failure));
}
