// An application that has someone sign in: the npm package `openid-client`, by authorization code with PKCE.
//
// The first line of its standard input is JSON: issuer, base (where the server is), clientId, clientSecret (none for an
// application that can keep none), redirectUri, scope. It answers with {url}, where the browser is to be sent; the second line
// is where the browser came back to, and its answer is {accessToken, scope} or {error}.

import { createInterface } from 'node:readline';
import * as client from 'openid-client';

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { issuer, base, clientId, clientSecret, redirectUri, scope } = JSON.parse((await lines.next()).value);
const server = {
  issuer,
  authorization_endpoint: `${base}/oauth2/authorize`,
  token_endpoint: `${base}/oauth2/token`,
  // The package then refuses an answer without `iss` (RFC 9207).
  authorization_response_iss_parameter_supported: true,
};
const authentication = clientSecret ? client.ClientSecretBasic(clientSecret) : client.None();
const config = new client.Configuration(server, clientId, undefined, authentication);
// The server of a test has no TLS.
client.allowInsecureRequests(config);
const pkceCodeVerifier = client.randomPKCECodeVerifier();
const expectedState = client.randomState();
const url = client.buildAuthorizationUrl(config, {
  redirect_uri: redirectUri,
  scope,
  state: expectedState,
  code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
  code_challenge_method: 'S256',
});
console.log(JSON.stringify({ url }));
const callback = new URL((await lines.next()).value);
try {
  const tokens = await client.authorizationCodeGrant(config, callback, { pkceCodeVerifier, expectedState });
  console.log(JSON.stringify({ accessToken: tokens.access_token, scope: tokens.scope }));
} catch (error) {
  console.log(JSON.stringify({ error: error.error ?? error.code ?? error.message }));
}
process.exit();
