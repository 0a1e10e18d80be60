/** An image with the tag that is meant where it names none. One that is named by its digest needs none. */
export const taggedImage = (image: string): string =>
  image.includes('@') || /:[^/]*$/.test(image) ? image : `${image}:latest`;
