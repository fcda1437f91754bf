/** The range of ClickHouse's `Date`; dates outside of it are moved to its ends. */
export const FIRST_DAY = '1970-01-01';
export const LAST_DAY = '2149-06-06';
