import { resolve } from 'node:path';
import { ProductError } from '../../infra/errors.ts';
import { DirectoryTarget } from './directory-target.ts';
import type { ExportTarget } from './target.ts';

/** The place that an operator names: a directory, or `s3://` with a bucket and a prefix. */
export async function openTarget(place: string): Promise<ExportTarget> {
  if (place.trim() === '')
    throw new ProductError('usage', '--to is empty: name a directory or s3://bucket/prefix');
  if (!/^[a-z][\w+.-]*:\/\//i.test(place)) return DirectoryTarget.open(resolve(place));
  const { S3Target, parsePlace } = await import('./s3-target.ts');
  const bucket = parsePlace(place);
  if (bucket === null) {
    // Whoever puts a password in an address must not find it in a log.
    throw new ProductError('usage', '--to is a directory or an address such as s3://bucket/prefix');
  }
  return S3Target.open(bucket, process.env);
}
