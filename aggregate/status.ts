export const readStatus = async (_e: unknown) => ({}); export const readCoverage = async (_e: unknown, _o: object) => ({});
