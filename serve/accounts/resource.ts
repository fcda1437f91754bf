/** The API of this server as a resource (RFC 8707): an audience of tokens. */
export const apiResource = (issuer: string): string => `${issuer}/api`;

/** The path of resource metadata; the path of the resource follows it (RFC 9728 §3.1). */
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';
export const resourceMetadataUrl = (issuer: string): string => `${issuer}${RESOURCE_METADATA_PATH}/api`;

/** Parses a list of resources, separated by commas; undefined unless all are absolute URIs without a fragment. */
export function readResourceList(text: string): string[] | undefined {
  const uris = text
    .split(',')
    .map((uri) => uri.trim())
    .filter((uri) => uri !== '');
  return uris.every(isResource) ? uris : undefined;
}

/** Requires `://` or `urn:`, because `localhost:3000` parses as a URL with the scheme `localhost:`. */
const isResource = (uri: string) =>
  /^(?:[a-z][a-z0-9+.-]*:\/\/|urn:)[\x21-\x7e]+$/i.test(uri) && !/[#"\\]/.test(uri) && URL.canParse(uri);
