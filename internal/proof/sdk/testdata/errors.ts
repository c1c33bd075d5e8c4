// Prints a name in Unicode and the errors that the generated client returns.
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const connect = (key?: string) =>
  createClient<paths>({ baseUrl: "http://127.0.0.1:8080/v1", headers: { Authorization: `Bearer ${key}` } });
const client = connect(process.env.KEY);
const header = { "Idempotency-Key": "k1" };

const { data } = await client.POST("/pets", { params: { header }, body: { name: "Zoë 🐕", categoryId: -5, status: "sold" } });
console.log(data?.name, data?.categoryId, data?.status);
for (const { error } of [
  await client.POST("/pets", { params: { header }, body: { name: "Max", categoryId: 6 } }),
  await client.GET("/pets", { params: { query: { limit: 101 } } }),
  await connect("another").GET("/pets"),
  await client.GET("/pets/{petId}", { params: { path: { petId: 999 } } }),
]) {
  console.log(error?.status, error?.code);
}
