import { type Connection, fetchV12, type Reader } from '@platformatic/kafka';
import type { AbortedTransaction } from './record-batches.ts';

/** What is asked of a partition. */
interface FetchedFrom {
  readonly partition: number;
  readonly offset: number;
}

export interface FetchedPartition {
  readonly partition: number;
  /** Of the protocol; 0 where there is none. */
  readonly error: number;
  /** Batches, as the broker stores them. */
  readonly bytes: Buffer;
  readonly aborted: readonly AbortedTransaction[];
}

interface FetchLimits {
  readonly waitMs: number;
  readonly bytes: number;
}

/** The client would decompress batches on the event loop, whole and without a limit: so their bytes are taken as they are. */
const FETCH = { api: 1, version: 12 } as const;
const NO_EPOCH = -1;
/** Each fetch says all that it wants. */
const NO_SESSION = { id: 0, epoch: -1 } as const;
const COMMITTED = 1;

/** Fetches partitions whose leader a connection leads to. */
export function fetchFrom(
  connection: Connection,
  topic: string,
  from: readonly FetchedFrom[],
  { waitMs, bytes }: FetchLimits,
): Promise<FetchedPartition[]> {
  const partitions = from.map(({ partition, offset }) => ({
    partition,
    currentLeaderEpoch: NO_EPOCH,
    fetchOffset: BigInt(offset),
    lastFetchedEpoch: NO_EPOCH,
    partitionMaxBytes: bytes,
  }));
  const request = () =>
    fetchV12.createRequest(
      waitMs,
      1,
      bytes,
      COMMITTED,
      NO_SESSION.id,
      NO_SESSION.epoch,
      [{ topicId: topic, partitions }],
      [],
      '',
    );
  return new Promise((resolve, reject) => {
    connection.send(
      FETCH.api,
      FETCH.version,
      request,
      (_id, _api, _version, reader) => readResponse(reader),
      true,
      true,
      (error, response) => (error ? reject(error) : resolve(response ?? [])),
    );
  });
}

/** Throttle time, error, session; topics with a name and partitions. */
function readResponse(reader: Reader): FetchedPartition[] {
  reader.readInt32();
  const error = reader.readInt16();
  reader.readInt32();
  const topics = reader.readArray((ofTopic) => {
    ofTopic.readString();
    return ofTopic.readArray((ofPartition) => readPartition(ofPartition, error));
  });
  return topics.flat();
}

function readPartition(reader: Reader, errorOfAll: number): FetchedPartition {
  const partition = reader.readInt32();
  const error = reader.readInt16() || errorOfAll;
  // The ends of the partition.
  for (let i = 0; i < 3; i++) reader.readInt64();
  const aborted = reader.readArray((ofAborted) => ({
    producer: ofAborted.readInt64(),
    from: Number(ofAborted.readInt64()),
  }));
  // A replica to read from.
  reader.readInt32();
  const bytes = reader.readNullableBytes();
  return { partition, error, bytes: bytes ?? Buffer.alloc(0), aborted };
}
