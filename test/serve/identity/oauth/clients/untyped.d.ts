declare module 'simple-oauth2' {
  interface Token {
    readonly token: Record<string, unknown>;
    expired(seconds?: number): boolean;
    refresh(): Promise<Token>;
    revokeAll(): Promise<void>;
  }
  export class AuthorizationCode {
    constructor(options: object);
    authorizeURL(parameters: object): string;
    getToken(parameters: object): Promise<Token>;
  }
  export class ResourceOwnerPassword {
    constructor(options: object);
    getToken(parameters: object): Promise<Token>;
  }
}
declare module 'passport-oauth2' {
  export default class Strategy {
    constructor(options: object, verify: (...given: never[]) => void);
    authenticate(request: object, options?: object): void;
    userProfile(accessToken: string, done: (error: unknown, profile?: unknown) => void): void;
  }
}
