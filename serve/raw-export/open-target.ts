import { resolve } from 'node:path';
import { ProductError } from '../../infra/errors.ts';
import { DirectoryTarget } from './directory-target.ts';
import type { ExportTarget } from './target.ts';

/** Opens a directory or `s3://bucket/prefix`. */
export async function openTarget(place: string): Promise<ExportTarget> {
  if (place.trim() === '')
    throw new ProductError('usage', '--to is empty: name a directory or s3://bucket/prefix');
  if (!/^[a-z][\w+.-]*:\/\//i.test(place)) return DirectoryTarget.open(resolve(place));
  const { S3Target, parseS3Url } = await import('./s3-target.ts');
  const bucket = parseS3Url(place);
  if (bucket === null) {
    // The error does not repeat the value, because it may contain a password.
    throw new ProductError('usage', '--to must be a directory or a URL such as s3://bucket/prefix');
  }
  return S3Target.open(bucket, process.env);
}
