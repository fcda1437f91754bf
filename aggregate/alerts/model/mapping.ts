/** Fields of an alert that a custom mapping can take from anywhere in a payload. */
export const MAPPED_FIELDS = [
  'title',
  'description',
  'start_time',
  'end_time',
  'service',
  'monitoring_tool',
  'hosts',
  'severity',
  'fingerprint',
  'environment',
] as const;
export type MappedField = (typeof MAPPED_FIELDS)[number];

/** Steps into a payload: names of properties and indexes of lists. */
export type Path = readonly (string | number)[];
export type Mapping = Readonly<Partial<Record<MappedField, Path>>>;
