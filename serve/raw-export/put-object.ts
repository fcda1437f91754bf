import type { Readable } from 'node:stream';
import { ProductError } from '../../infra/errors.ts';
import { saveFile } from './finished-file.ts';
import { openTarget } from './open-target.ts';

const OBJECT = /^(s3:\/\/[^/]+(?:\/.+)?)\/([^/]+)$/;

/** Uploads a stream as one object, such as `s3://bucket/some/name`, after it has ended; returns its size. */
export async function putObject(content: Readable, address: string): Promise<number> {
  const [, place, name] = OBJECT.exec(address) ?? [];
  if (place === undefined || name === undefined)
    throw new ProductError('usage', `${address} has no object name: use s3://bucket/name`);
  const target = await openTarget(place);
  try {
    const file = await saveFile(content, target.temporaryFile());
    await target.put(file, name);
    return file.bytes;
  } finally {
    await target.close();
  }
}
