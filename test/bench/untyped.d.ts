declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  interface Saved {
    save(): Promise<string>;
  }
  interface Grant extends Saved {
    addOIDCScope(scope: string): void;
  }
  export default class Provider {
    constructor(issuer: string, configuration: object);
    callback(): RequestListener;
    readonly Client: { find(id: string): Promise<unknown> };
    readonly Grant: new (
      of: object,
    ) => Grant;
    readonly AuthorizationCode: new (
      of: object,
    ) => Saved;
  }
}
