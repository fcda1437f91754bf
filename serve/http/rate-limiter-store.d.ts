/** The base of the stores of rate-limiter-flexible, which declares it and exports it only from this file. */
declare module 'rate-limiter-flexible/lib/RateLimiterStoreAbstract.js' {
  export { RateLimiterStoreAbstract as default } from 'rate-limiter-flexible';
}

/** Its answer; from the entry of the package all its stores would be loaded with it. */
declare module 'rate-limiter-flexible/lib/RateLimiterRes.js' {
  export { RateLimiterRes as default } from 'rate-limiter-flexible';
}
