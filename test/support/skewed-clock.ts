// Imported before a program, by `--import`: shifts the clock that its JavaScript sees by CLOCK_SKEW_HOURS.

const skewMs = Number(process.env.CLOCK_SKEW_HOURS ?? 0) * 3_600_000;
const { now } = Date;

Date.now = () => now() + skewMs;
globalThis.Date = new Proxy(Date, {
  construct: (target, given, as) => Reflect.construct(target, given.length > 0 ? given : [Date.now()], as),
  apply: () => new Date().toString(),
});
