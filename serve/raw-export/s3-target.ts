import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  NoSuchKey,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import type { Environment } from '../../infra/config/read.ts';
import { retry } from '../../infra/coordination/retry.ts';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import type { FinishedFile } from './finished-file.ts';
import type { ExportTarget } from './target.ts';

/** S3 limit for one PutObject request. The file of a day is far smaller. */
const FILE_BYTES_MAX = 5 * 2 ** 30;
const TRIES = 5;
const RETRY = { waitMs: 500, waitMsMax: 8000, secondsMax: 60, isFinal: (error: unknown) => !mayPass(error) };
const REASON_CHARACTERS_MAX = 300;

/** Parses `s3://bucket/some/prefix`; null if it is invalid. */
export function parseS3Url(place: string): { bucket: string; prefix: string } | null {
  const [, bucket, rest = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/(?!\.+(?:\/|$))[\w!.*'()=-]+)*)\/?$/.exec(place) ?? [];
  return bucket === undefined ? null : { bucket, prefix: rest === '' ? '' : `${rest.slice(1)}/` };
}

/**
 * Exports to an S3 bucket. One request writes an object, so readers never see part of it. Credentials come from the
 * default provider chain of the AWS SDK.
 */
export class S3Target implements ExportTarget {
  readonly location: string;
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #unfinished: string;

  private constructor(place: { bucket: string; prefix: string }, client: S3Client, unfinished: string) {
    this.location = `s3://${place.bucket}/${place.prefix}`;
    this.#client = client;
    this.#bucket = place.bucket;
    this.#prefix = place.prefix;
    this.#unfinished = unfinished;
  }

  static async open(place: { bucket: string; prefix: string }, env: Environment): Promise<S3Target> {
    const unfinished = await mkdtemp(join(tmpdir(), 'chain-metrics-export-'));
    const target = new S3Target(place, clientOf(env), unfinished);
    try {
      // Fails early: reports a wrong bucket or credentials before the store is opened.
      await target.read('_manifest');
      return target;
    } catch (error) {
      await target.close();
      throw error;
    }
  }

  tags(folder: string): Promise<ReadonlyMap<string, string>> {
    return this.#asking(async () => {
      const found = new Map<string, string>();
      const listing = { Bucket: this.#bucket, Prefix: this.#prefix + folder };
      for await (const { Contents = [] } of paginateListObjectsV2({ client: this.#client }, listing)) {
        for (const { Key = '', ETag = '' } of Contents) found.set(Key.slice(this.#prefix.length), ETag);
      }
      return found;
    });
  }

  read(path: string): Promise<Buffer | null> {
    return this.#asking(async () => {
      try {
        const { Body } = await this.#client.send(new GetObjectCommand(this.#object(path)));
        return Body === undefined ? null : Buffer.from(await Body.transformToByteArray());
      } catch (error) {
        if (error instanceof NoSuchKey) return null;
        throw error;
      }
    });
  }

  async write(path: string, content: string): Promise<void> {
    await this.#asking(() =>
      this.#client.send(new PutObjectCommand({ ...this.#object(path), Body: content })),
    );
  }

  temporaryFile(): string {
    return join(this.#unfinished, randomUUID());
  }

  async put({ path: file, bytes, sha256 }: FinishedFile, path: string): Promise<string> {
    if (bytes > FILE_BYTES_MAX) {
      throw new ProductError(
        'usage',
        `${path} has ${bytes} bytes, more than one upload to S3 allows (${FILE_BYTES_MAX}); export to a directory instead`,
      );
    }
    const { ETag = '' } = await this.#asking(() =>
      // The SDK does not retry streams, because it cannot read them twice.
      retry(
        () =>
          this.#client.send(
            new PutObjectCommand({
              ...this.#object(path),
              Body: createReadStream(file),
              ContentLength: bytes,
              ContentType: path.endsWith('.parquet')
                ? 'application/vnd.apache.parquet'
                : 'application/octet-stream',
              ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64'),
            }),
          ),
        RETRY,
      ),
    );
    await rm(file);
    return ETag;
  }

  async remove(path: string): Promise<void> {
    await this.#asking(() => this.#client.send(new DeleteObjectCommand(this.#object(path))));
  }

  async close(): Promise<void> {
    this.#client.destroy();
    await rm(this.#unfinished, { recursive: true, force: true });
  }

  #object(path: string) {
    return { Bucket: this.#bucket, Key: this.#prefix + path };
  }

  async #asking<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw error instanceof ProductError ? error : failureOf(this.location, error);
    }
  }
}

/** Adds what the SDK lacks: a default region for stores other than AWS, and AWS_REGION before AWS_DEFAULT_REGION. */
function clientOf(env: Environment): S3Client {
  const isOther = (env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL ?? '') !== '';
  const region = env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? (isOther ? 'us-east-1' : undefined);
  return new S3Client({
    ...(region === undefined ? {} : { region }),
    forcePathStyle: isOther,
    maxAttempts: TRIES,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
}

/** Whether a retry may succeed. An error without a status means that there was no response. */
function mayPass(error: unknown): boolean {
  const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
  return status === undefined || status === 429 || status >= 500;
}

function failureOf(location: string, error: unknown): ProductError {
  const reason = `${location}: ${reasonOf(error).slice(0, REASON_CHARACTERS_MAX)}`;
  const { name } = error as Error;
  if (/Credentials|Token|Region/.test(`${name} ${reason}`)) {
    return new ProductError(
      'service_refused',
      `${reason}; set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION, or AWS_PROFILE`,
    );
  }
  return mayPass(error)
    ? new ProductError('service_unreachable', reason)
    : new ProductError('service_refused', `${reason} (${name})`);
}
